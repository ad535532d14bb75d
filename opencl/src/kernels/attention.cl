// What attention is made of, in its plain form: one item an element, nothing shared between items.
//
//   range     [batch][ceil(elements / LANES) * LANES], groups of [1][LANES]; one text for both variants
//   values    [n][block of channels][square][channel in the block], each with its block and the floats of a position;
//             outputs are plain (blocks of one)
//   local     none
//
// Options: LANES, items of a group; for attention SQUARES, so that the weights of a query stay in private memory.

#ifdef SQUARES
// For each head h and square q: weights = softmax over k of query[q] key[k] / sqrt(depth) + bias[h][k][q];
// output[c][q] = sum over k of weights[k] value[c][k], for the channels c of the head.
//
//   elements  heads * SQUARES, the query's square fastest

kernel void attention(global const float *restrict query, int query_block, int query_stride,
                      global const float *restrict key, int key_block, int key_stride,
                      global const float *restrict value, int value_block, int value_stride,
                      global const float *restrict bias, int has_bias, int bias_block, int bias_stride, int heads,
                      int depth, int width, global float *restrict output, int out_stride, int batch) {
    const int n = get_global_id(0);
    const int i = get_global_id(1);
    if (n >= batch || i >= heads * SQUARES) return;
    const int head = i / SQUARES;
    const int q = i % SQUARES;
    query += (size_t)n * query_stride;
    key += (size_t)n * key_stride;
    value += (size_t)n * value_stride;
    bias += (size_t)n * bias_stride;

    const float scale = 1.0f / sqrt((float)depth);
    float weights[SQUARES];
    float top = -INFINITY;
    for (int k = 0; k < SQUARES; k++) {
        float sum = 0.0f;
        for (int c = head * depth; c < (head + 1) * depth; c++)
            sum += query[PLACE(c, q, SQUARES, query_block)] * key[PLACE(c, k, SQUARES, key_block)];
        sum *= scale;
        if (has_bias) sum += bias[PLACE(head, k * SQUARES + q, SQUARES * SQUARES, bias_block)];
        weights[k] = sum;
        top = fmax(top, sum);
    }
    float total = 0.0f;
    for (int k = 0; k < SQUARES; k++) {
        weights[k] = exp(weights[k] - top);
        total += weights[k];
    }
    for (int c = head * width; c < (head + 1) * width; c++) {
        float sum = 0.0f;
        for (int k = 0; k < SQUARES; k++) sum += weights[k] * value[PLACE(c, k, SQUARES, value_block)];
        output[(size_t)n * out_stride + c * SQUARES + q] = sum / total;
    }
}
#endif

// output[a][b] = query[a] key[b] / sqrt(channels)
//
//   elements  from * to, the squares of query and key

kernel void scores(global const float *restrict query, int query_block, int query_stride,
                   global const float *restrict key, int key_block, int key_stride, int channels, int from, int to,
                   global float *restrict output, int out_stride, int batch) {
    const int n = get_global_id(0);
    const int i = get_global_id(1);
    if (n >= batch || i >= from * to) return;
    const int a = i / to;
    const int b = i % to;
    query += (size_t)n * query_stride;
    key += (size_t)n * key_stride;
    float sum = 0.0f;
    for (int c = 0; c < channels; c++)
        sum += query[PLACE(c, a, from, query_block)] * key[PLACE(c, b, to, key_block)];
    output[(size_t)n * out_stride + i] = sum / sqrt((float)channels);
}

// output[h][o] = sum over j of weights[j][o] input[h * part + j], the input read as one vector
//
//   elements  heads * outputs
//   weights   [part][outputs]

kernel void smolgen(global const float *restrict input, int in_block, int in_squares, int in_stride,
                    global const float *restrict weights, int part, int heads, int outputs,
                    global float *restrict output, int out_stride, int batch) {
    const int n = get_global_id(0);
    const int i = get_global_id(1);
    if (n >= batch || i >= heads * outputs) return;
    const int first = i / outputs * part;
    const int o = i % outputs;
    input += (size_t)n * in_stride;
    float sum = 0.0f;
    for (int j = 0; j < part; j++) {
        const int e = first + j;
        sum += weights[(size_t)j * outputs + o] * input[PLACE(e / in_squares, e % in_squares, in_squares, in_block)];
    }
    output[(size_t)n * out_stride + i] = sum;
}
