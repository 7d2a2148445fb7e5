/* Draws every chart of the page from the JSON that follows its canvas.  Series differ in colour and
 * also in dashes, points or hatching, so that they stay apart on paper and for every eye. */
"use strict";
(() => {
  const themes = { // hues of Okabe and Ito, made lighter for the dark
    light: { ink: "#1c1e21", line: "#d5d9de", paper: "#ffffff",
             hues: ["#0072b2", "#d55e00", "#007f5f", "#8f4a7d", "#7a6a00", "#444444"] },
    dark: { ink: "#e6e8ea", line: "#3b4149", paper: "#14171a",
            hues: ["#56b4e9", "#f0a04b", "#3ac79c", "#dc9bc6", "#e6d64a", "#bbbbbb"] },
  };
  const dashes = [[], [8, 4], [2, 3], [10, 3, 2, 3], [16, 4], [5, 2]];
  const points = ["circle", "rect", "triangle", "rectRot", "crossRot", "star"];
  const hatches = [ // what is drawn over a tile of 8 x 8
    () => {},
    (g) => { g.moveTo(-2, 10); g.lineTo(10, -2); g.moveTo(-2, 2); g.lineTo(2, -2); g.moveTo(6, 10); g.lineTo(10, 6); },
    (g) => { g.moveTo(0, 4); g.lineTo(8, 4); },
    (g) => { g.moveTo(-2, -2); g.lineTo(10, 10); g.moveTo(6, -2); g.lineTo(10, 2); g.moveTo(-2, 6); g.lineTo(2, 10); },
    (g) => { g.moveTo(4, 0); g.lineTo(4, 8); },
    (g) => { g.moveTo(0, 4); g.lineTo(8, 4); g.moveTo(4, 0); g.lineTo(4, 8); },
  ];
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let charts = [];

  const fill = (s, hue, paper) => {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const g = tile.getContext("2d");
    g.fillStyle = hue;
    g.fillRect(0, 0, 8, 8);
    g.strokeStyle = paper;
    g.lineWidth = 2.5;
    g.beginPath();
    hatches[s % hatches.length](g);
    g.stroke();
    return g.createPattern(tile, "repeat");
  };

  /* About 20 points of a long line are drawn: more would hide its dashes. */
  const radii = (n) => (n <= 40 ? 3.5 : Array.from({ length: n }, (_, k) => (k % Math.ceil(n / 20) ? 0 : 3.5)));

  /* What series number s looks like; `before` of them are references. */
  const style = (kind, series, s, before, theme) => {
    const mark = (s + Math.floor(s / 6)) % 6; // the seventh differs from the first, too
    const hue = theme.hues[s % theme.hues.length];
    if (kind === "bar")
      return { backgroundColor: fill(mark, hue, theme.paper), borderColor: hue, borderWidth: 1.5 };
    if (series.reference)
      return { borderColor: theme.ink, backgroundColor: theme.ink, borderWidth: 3, pointRadius: 0,
               borderDash: dashes[(before + 1) % 6] };
    return { borderColor: hue, backgroundColor: hue, borderWidth: 2, borderDash: dashes[mark],
             pointStyle: points[mark], pointRadius: kind === "scatter" ? 6 : radii(series.values.length),
             pointHoverRadius: 7, pointBackgroundColor: hue, pointBorderWidth: mark > 3 ? 2 : 1 };
  };

  /* A label in lines of at most `room` characters, where its words allow it. */
  const wrap = (label, room) => {
    const lines = [""];
    for (const word of String(label).split(" ")) {
      const last = lines.length - 1;
      if (lines[last] && lines[last].length + 1 + word.length > room) lines.push(word);
      else lines[last] += (lines[last] ? " " : "") + word;
    }
    return lines.length > 1 ? lines : label;
  };

  /* Labels of x are broken so that each fits under its bar or point, and never tilted. */
  function label(value) {
    return wrap(this.getLabelForValue(value), this.chart.width / this.chart.data.labels.length / 8);
  }

  const axis = (title, theme, grid, more) => ({
    title: { display: Boolean(title), text: title, color: theme.ink },
    ticks: { color: theme.ink, maxRotation: 0, autoSkipPadding: 8, ...more },
    grid: { display: grid, color: theme.line, borderColor: theme.line },
  });

  const hasNumbers = (chart) => chart.kind === "scatter" || (chart.x_scale || "words") !== "words";

  /* Numbers to four digits, as in the tables of the page. */
  const print = (value) => (Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(4))).toString();

  const tooltip = (item) =>
    `${item.dataset.label}: ${item.chart.config.type === "scatter" ? print(item.parsed.x) + ", " : ""}${print(item.parsed.y)}`;

  const datasets = (chart, theme) => {
    const before = (s) => chart.series.slice(0, s).filter((series) => series.reference).length;
    return chart.series.map((series, s) => ({
      label: series.name, spanGaps: true,
      data: hasNumbers(chart) ? series.values.map((y, k) => ({ x: chart.x[k], y })).filter((point) => point.y !== null)
                              : series.values,
      ...style(chart.kind, series, s, before(s), theme),
    }));
  };

  /* Powers of ten, and 2 and 5 times them where there is room; others would crowd the axis. */
  const thin = (scale) => {
    const digits = scale.max / scale.min < 300 ? [1, 2, 5] : [1];
    scale.ticks = scale.ticks.filter(({ value }) => {
      const digit = value / 10 ** Math.floor(Math.log10(value) + 1e-9);
      return digits.some((d) => Math.abs(digit - d) < 1e-6);
    });
  };

  /* A piece of the line of a series with its point, for the legend. */
  const swatch = (set, kind) => {
    const tile = document.createElement("canvas");
    tile.width = kind === "line" ? 40 : 14;
    tile.height = 14;
    const g = tile.getContext("2d");
    g.strokeStyle = g.fillStyle = set.borderColor;
    g.lineWidth = set.borderWidth;
    g.setLineDash(set.borderDash);
    g.beginPath();
    if (kind === "line") { g.moveTo(0, 7); g.lineTo(tile.width, 7); }
    g.stroke();
    g.setLineDash([]);
    g.lineWidth = set.pointBorderWidth || 1;
    if (set.pointRadius !== 0) Chart.helpers.drawPoint(g, { pointStyle: set.pointStyle, radius: 5, borderWidth: g.lineWidth }, tile.width / 2, 7);
    return tile;
  };

  const legendLabels = (kind, theme) => {
    if (kind === "bar") return { color: theme.ink, padding: 16 };
    const labels = (chart) => chart.data.datasets.map((set, s) => ({
      text: set.label, datasetIndex: s, hidden: !chart.isDatasetVisible(s), fontColor: theme.ink,
      pointStyle: swatch(set, kind),
    }));
    return { color: theme.ink, padding: 14, usePointStyle: true, pointStyleWidth: kind === "line" ? 40 : 14,
             generateLabels: labels };
  };

  const xAxis = (chart, theme) => {
    if (!hasNumbers(chart))
      return axis(chart.x_title, theme, false, { callback: label, autoSkip: chart.x.length > 8 });
    const type = chart.x_scale === "log" ? "logarithmic" : "linear";
    const whole = chart.x.every(Number.isInteger) ? { precision: 0 } : {};
    return { ...axis(chart.x_title, theme, true, whole), type, grace: chart.kind === "scatter" ? "5%" : 0 };
  };

  const yAxis = (chart, theme) => {
    if (chart.y_scale === "log")
      return { ...axis(chart.y_title, theme, true, { callback: print, autoSkip: false }), type: "logarithmic",
               afterBuildTicks: thin };
    return { ...axis(chart.y_title, theme, true), beginAtZero: chart.y_scale !== "fit",
             grace: chart.y_scale === "fit" ? "10%" : 0 };
  };

  const draw = (canvas, theme) => {
    const chart = JSON.parse(canvas.closest("figure").querySelector("script").textContent);
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    return new Chart(canvas, {
      type: chart.kind,
      data: { labels: chart.x, datasets: datasets(chart, theme) },
      options: {
        animation: false, responsive: true, maintainAspectRatio: false,
        interaction: { mode: hasNumbers(chart) ? "nearest" : "index", axis: chart.kind === "scatter" ? "xy" : "x",
                       intersect: false },
        scales: { x: xAxis(chart, theme), y: yAxis(chart, theme) },
        plugins: {
          tooltip: { usePointStyle: chart.kind !== "bar", callbacks: { label: tooltip } },
          legend: { position: "bottom", labels: legendLabels(chart.kind, theme) },
        },
      },
    });
  };

  const drawAll = () => {
    const theme = dark.matches ? themes.dark : themes.light;
    charts.forEach((chart) => chart.destroy());
    charts = [...document.querySelectorAll(".plot canvas")].map((canvas) => draw(canvas, theme));
  };

  /* Saving takes the drawing for papers that each figure carries. */

  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  const saveSvg = (svg, name) => save(new Blob([svg], { type: "image/svg+xml" }), name + ".svg");

  /* At 300 dots per inch on white, as `crosswise report` makes them. */
  const savePng = (svg, name) => {
    const image = new Image();
    image.onload = () => {
      const paper = document.createElement("canvas");
      paper.width = Math.round(image.width * 300 / 96);
      paper.height = Math.round(image.height * 300 / 96);
      const g = paper.getContext("2d");
      g.fillStyle = "#ffffff";
      g.fillRect(0, 0, paper.width, paper.height);
      g.drawImage(image, 0, 0, paper.width, paper.height);
      paper.toBlob((blob) => save(blob, name + ".png"));
    };
    image.src = "data:image/svg+xml," + encodeURIComponent(svg);
  };

  const button = (text, label, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.setAttribute("aria-label", label);
    made.addEventListener("click", action);
    return made;
  };

  document.querySelectorAll("figure").forEach((figure, k) => {
    const svg = new XMLSerializer().serializeToString(figure.querySelector(".drawing svg"));
    const heading = figure.closest("section").querySelector("h2, h3");
    const name = heading?.id || `figure-${k + 1}`;
    const what = heading ? heading.textContent : `figure ${k + 1}`;
    const line = document.createElement("p");
    line.className = "save";
    line.append("Save as ", button("SVG", `Save as SVG: ${what}`, () => saveSvg(svg, name)),
                button("PNG", `Save as PNG: ${what}`, () => savePng(svg, name)));
    figure.querySelector(".plot").after(line);
    figure.classList.add("live");
  });

  dark.addEventListener("change", drawAll);
  drawAll();
})();
