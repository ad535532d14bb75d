// Softmax over a position's elements, in place: x[i] = e^(x[i] - max) / sum of e^(x[j] - max).
//
//   range     [batch][1], groups of one item; one text for both variants, made for the three numbers of a WDL head
//   x         [n][count], stride floats apart
//   local     none

KERNEL softmax(ITEM_ARGS global float *restrict x, int count, int stride, int batch) {
    const int n = item(0);
    if (n >= batch) return;
    x += (size_t)n * stride;
    float top = x[0];
    for (int i = 1; i < count; i++) top = fmax(top, x[i]);
    float sum = 0.0f;
    for (int i = 0; i < count; i++) {
        const float e = exp(x[i] - top);
        x[i] = e;
        sum += e;
    }
    for (int i = 0; i < count; i++) x[i] /= sum;
}
