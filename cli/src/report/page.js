"use strict";
// Draws the games whose data stand in the page. Each is drawn when it is opened for the first time.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const SIGN = { inaccuracy: "?!", mistake: "?", blunder: "??" };
  const COLOUR = { inaccuracy: "#d4a72c", mistake: "#e16f24", blunder: "#cf222e" };
  const MOST_MISTAKES = 6;
  // Shapes of pieces in a square of 40.
  const PIECES = {
    p: "M20 9a5 5 0 0 1 3.6 8.4c3 2.2 2.2 5.6 1.4 8.6h2.5l3 6h-21l3-6H15c-.8-3-1.6-6.4 1.4-8.6A5 5 0 0 1 20 9z",
    r: "M10 8h4v3h4V8h4v3h4V8h4v8l-3 2v9l3 2v4H10v-4l3-2v-9l-3-2z",
    n: "M12 33c0-8 5-9 6-14l-5 3-3-3 4-7 5-3 1-3 3 4c6 2 8 8 8 23z",
    b: "M20 5a2.5 2.5 0 0 1 1.6 4.4C26 12.5 29 18 25 24l2 3h3v6H10v-6h3l2-3c-4-6-1-11.5 3.4-14.6A2.5 2.5 0 0 1 20 5z",
    q: "M8 12l6 9 1-13 5 12 5-12 1 13 6-9-3 15 1 6H10l1-6z",
    k: "M18.5 4h3v3h3v3h-3v4c5-3 10-1 10 4 0 4-3 6-4 9l1 6h-17l1-6c-1-3-4-5-4-9 0-5 5-7 10-4v-4h-3V7h3z",
  };

  function make(name, attributes, ...children) {
    const isSvg = ["svg", "g", "path", "rect", "line", "polyline", "polygon", "circle", "text", "title"].includes(name);
    const element = isSvg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
      else element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  const percent = (x) => `${Math.round(100 * x)} %`;

  function evaluation(position) {
    if (position.mated) return position.wdl[0] > 0 ? "1-0" : "0-1";
    if (position.mate !== null) return `#${position.mate}`;
    const pawns = position.cp / 100;
    return `${pawns > 0 ? "+" : ""}${pawns.toFixed(2)}`;
  }

  // Squares are counted from a1, file by file; White is below.
  const left = (square) => (square % 8) * 40;
  const top = (square) => (7 - Math.floor(square / 8)) * 40;

  function arrow([from, to], colour) {
    const [x1, y1, x2, y2] = [left(from) + 20, top(from) + 20, left(to) + 20, top(to) + 20];
    const angle = Math.atan2(y2 - y1, x2 - x1);
    const point = (along, across) =>
      `${(x2 - along * Math.cos(angle) - across * Math.sin(angle)).toFixed(1)},${(y2 - along * Math.sin(angle) + across * Math.cos(angle)).toFixed(1)}`;
    return make("g", { opacity: 0.75 },
      make("line", { x1, y1, x2: x2 - 12 * Math.cos(angle), y2: y2 - 12 * Math.sin(angle), stroke: colour, "stroke-width": 6 }),
      make("polygon", { points: `${point(0, 0)} ${point(15, 9)} ${point(15, -9)}`, fill: colour }));
  }

  function board(position, arrows) {
    const svg = make("svg", { viewBox: "0 0 320 320", class: "board", role: "img" }, make("title", {}, position.board));
    for (let square = 0; square < 64; square++) {
      const isDark = (square + Math.floor(square / 8)) % 2 === 0;
      svg.append(make("rect", { x: left(square), y: top(square), width: 40, height: 40, fill: isDark ? "var(--dark)" : "var(--light)" }));
    }
    position.board.split("/").forEach((rank, row) => {
      let file = 0;
      for (const c of rank) {
        if (/\d/.test(c)) { file += Number(c); continue; }
        const isWhite = c !== c.toLowerCase();
        svg.append(make("path", {
          d: PIECES[c.toLowerCase()], transform: `translate(${file * 40} ${row * 40})`, class: "piece",
          fill: isWhite ? "#fff" : "#333", stroke: isWhite ? "#222" : "#eee", "stroke-width": 1.2, "stroke-linejoin": "round",
        }));
        file += 1;
      }
    });
    svg.append(...arrows);
    return svg;
  }

  const number = (game, turn) => {
    const ply = game.ply + turn;
    return `${Math.floor(ply / 2) + 1}${ply % 2 === 0 ? "." : "..."}`;
  };

  // A line that could have been played after `turn` moves.
  function lineText(game, turn, most) {
    return game.positions[turn].line.slice(0, most)
      .map((san, later) => (later === 0 || (game.ply + turn + later) % 2 === 0 ? `${number(game, turn + later)} ${san}` : san))
      .join(" ");
  }

  // A chart over the plies of the game: `draw(x, y)` fills it, and `choose(turn)` hears of the pointer.
  function chart(game, height, title, choose, draw) {
    const [width, below, before] = [640, 16, 38];
    const last = Math.max(1, game.positions.length - 1);
    const x = (turn) => before + (turn / last) * (width - before - 6);
    const y = (part) => 6 + (1 - part) * (height - below - 6);
    const marker = make("line", { y1: y(1), y2: y(0), stroke: "#0969da", "stroke-width": 1.5 });
    const find = (event) => {
      const box = svg.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * width;
      choose(Math.min(game.positions.length - 1, Math.max(0, Math.round(((at - before) / (width - before - 6)) * last))));
    };
    const svg = make("svg", {
      viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", onpointerdown: find,
      onpointermove: (event) => { if (event.buttons) find(event); },
    }, make("title", {}, title));
    svg.append(...draw(x, y), marker);
    const step = Math.max(10, Math.ceil(last / 120) * 10);
    for (let turn = 0; turn <= last; turn += step) {
      svg.append(make("text", { x: x(turn), y: height - 3, "text-anchor": "middle" }, String(Math.floor((game.ply + turn) / 2) + 1)));
    }
    return { svg, mark: (turn) => { marker.setAttribute("x1", x(turn)); marker.setAttribute("x2", x(turn)); } };
  }

  function valueChart(game, choose) {
    return chart(game, 190, "White's win, draw and loss, and expected score", choose, (x, y) => {
      const edge = (part) => game.positions.map((position, turn) => `${x(turn).toFixed(1)},${y(part(position)).toFixed(1)}`);
      const area = (lower, upper, fill) =>
        make("polygon", { points: [...edge(lower), ...edge(upper).reverse()].join(" "), fill });
      const won = (position) => position.wdl[0];
      const drawn = (position) => position.wdl[0] + position.wdl[1];
      const marks = game.moves.map((move, turn) => move.mark && make("circle", {
        cx: x(turn + 1), cy: y(game.positions[turn + 1].score), r: 4, fill: COLOUR[move.mark], stroke: "#fff",
      }, make("title", {}, `${number(game, turn)} ${move.san}${SIGN[move.mark]}`)));
      const names = [["100 %", 1], ["50 %", 0.5], ["0 %", 0]].map(([name, at]) =>
        make("text", { x: 34, y: y(at) + 4, "text-anchor": "end" }, name));
      return [
        area(() => 0, won, "#f4f1ea"), area(won, drawn, "#c3c8ce"), area(drawn, () => 1, "#4b535d"),
        make("line", { x1: x(0), x2: x(Math.max(1, game.positions.length - 1)), y1: y(0.5), y2: y(0.5), stroke: "#8c959f", "stroke-dasharray": "3 3" }),
        make("polyline", { points: edge((position) => position.score).join(" "), fill: "none", stroke: "#bf3989", "stroke-width": 2, class: "score" }),
        ...names, ...marks.filter(Boolean),
      ];
    });
  }

  function leftChart(game, choose) {
    const all = game.positions.map((position) => position.left);
    if (all.some((plies) => plies === null)) return null;
    const most = Math.max(10, ...all);
    return chart(game, 110, "Moves left, in plies, as the network expects them", choose, (x, y) => [
      make("polyline", { points: all.map((plies, turn) => `${x(turn).toFixed(1)},${y(plies / most).toFixed(1)}`).join(" "), fill: "none", stroke: "#1a7f37", "stroke-width": 2, class: "left" }),
      make("text", { x: 34, y: y(1) + 4, "text-anchor": "end" }, String(Math.round(most))),
      make("text", { x: 34, y: y(0) + 4, "text-anchor": "end" }, "0"),
    ]);
  }

  function playersTable(game, names) {
    const row = (name, player) => make("tr", {}, make("td", {}, name), make("td", {}, String(player.moves)),
      make("td", {}, percent(player.loss)), ...player.marks.map((count) => make("td", {}, String(count))));
    const heads = ["", "moves", "mean loss", "inaccuracies", "mistakes", "blunders"].map((text) => make("th", {}, text));
    return make("table", {}, make("tr", {}, ...heads), row(names[0], game.white), row(names[1], game.black));
  }

  function mistakes(game, choose) {
    const worst = game.moves.map((move, turn) => ({ move, turn })).filter(({ move }) => move.mark)
      .sort((a, b) => b.move.loss - a.move.loss).slice(0, MOST_MISTAKES);
    if (worst.length === 0) return null;
    return make("section", {}, make("h3", {}, "The biggest mistakes"), make("div", { class: "mistakes" }, ...worst.map(({ move, turn }) => {
      const position = game.positions[turn];
      const arrows = [arrow([move.from, move.to], "#cf222e"), ...(position.best ? [arrow(position.best, "#1a7f37")] : [])];
      return make("figure", { style: "margin: 0", onclick: () => choose(turn) }, board(position, arrows),
        make("p", { class: move.mark }, make("b", {}, `${number(game, turn)} ${move.san}${SIGN[move.mark]}`),
          ` ${percent(position.playedOn)} → ${percent(game.positions[turn + 1].score)} for White`),
        make("p", {}, lineText(game, turn, 8)));
    })));
  }

  function draw(game, names) {
    const place = make("div", {});
    const says = make("p", {});
    const comment = make("p", { class: "comment" });
    const buttons = game.moves.map((move, turn) => make("button", { class: move.mark || "", onclick: () => choose(turn + 1) },
      `${move.san}${move.mark ? SIGN[move.mark] : ""}`));
    const list = make("div", { class: "moves" });
    buttons.forEach((button, turn) => {
      if (turn === 0 || (game.ply + turn) % 2 === 0) list.append(make("i", {}, `${number(game, turn)} `));
      list.append(button, " ");
    });
    let now = 0;
    const charts = [valueChart(game, (turn) => choose(turn)), leftChart(game, (turn) => choose(turn))].filter(Boolean);
    function choose(turn) {
      now = Math.min(game.positions.length - 1, Math.max(0, turn));
      const position = game.positions[now];
      const arrows = position.best ? [arrow(position.best, "#1a7f37")] : [];
      place.replaceChildren(board(position, arrows));
      const [won, drawn, lost] = position.wdl.map(percent);
      const end = position.left === null ? "" : `, some ${Math.round(position.left)} plies to go`;
      says.textContent = `${evaluation(position)}: White wins ${won}, draws ${drawn}, loses ${lost}${end}; ${position.visits} visits. ${lineText(game, now, 12)}`;
      comment.textContent = now > 0 ? game.moves[now - 1].comments.join(" ") : "";
      buttons.forEach((button, at) => button.classList.toggle("now", at === now - 1));
      charts.forEach((one) => one.mark(now));
    }
    const step = (text, to) => make("button", { onclick: () => choose(to()) }, text);
    const steps = make("p", { class: "steps" }, step("«", () => 0), step("‹", () => now - 1), step("›", () => now + 1),
      step("»", () => game.positions.length - 1));
    choose(0);
    const body = make("div", { tabindex: 0 },
      make("div", { class: "body" }, make("div", {}, place, steps, says, comment),
        make("div", {}, ...charts.map((one) => one.svg), list, playersTable(game, names))),
      mistakes(game, choose));
    body.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by) { choose(now + by); event.preventDefault(); }
    });
    return body;
  }

  function show(source) {
    const game = JSON.parse(source.textContent);
    const tags = Object.fromEntries(game.tags);
    const names = [tags.White || "White", tags.Black || "Black"];
    const where = [tags.Event, tags.Date].filter((text) => text && !/^[?.]*$/.test(text)).join(", ");
    const counts = (player) => `${percent(player.loss)} (${player.marks.join("/")})`;
    const details = make("details", { id: `game-${game.number}` }, make("summary", {}, make("b", {}, `${game.number}. ${names.join(" – ")}`),
      make("span", {}, game.result), make("span", {}, where), make("span", {}, `${counts(game.white)} – ${counts(game.black)}`)));
    let drawn = false;
    const fill = () => {
      if (!drawn && details.open) { drawn = true; details.append(draw(game, names)); }
    };
    details.addEventListener("toggle", fill);
    source.after(details);
    return { details, fill };
  }

  const shown = [...document.querySelectorAll("script.game")].map(show);
  if (shown.length > 0) {
    shown[0].details.open = true;
    shown[0].fill();
  }
  document.body.dataset.games = String(shown.length);
})();
