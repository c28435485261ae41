// Draws the charts of the page with Chart.js. The data stands in the element #charts, one object
// per .chart; docs/report.md describes it. Nothing here computes a number: every one
// that is drawn also stands in a table.
'use strict';

(() => {
  const charts = JSON.parse(document.getElementById('charts').textContent);
  const darkness = window.matchMedia('(prefers-color-scheme: dark)');
  const colour = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
  const series = (index) => colour('series-' + (1 + index % 6));
  const is_narrow = () => window.innerWidth < 640;
  const shortened = (text, length) =>
    text.length > length ? text.slice(0, length - 1) + '…' : text;
  const rounded = (value) => Number(value).toFixed(3);
  // The ledger writes the open end of an interval as the text "inf" or "-inf".
  const end_of = (value) =>
    value === 'inf' ? Infinity : value === '-inf' ? -Infinity : value;

  // Whiskers along `direction`, of points that have a low and a high; open ends stop at the edge.
  const whiskers = (direction) => ({
    id: 'whiskers',
    beforeDatasetsDraw(chart) {
      const { ctx, scales, chartArea: area } = chart;
      const scale = scales[direction];
      const [from, to] = direction === 'x' ? [area.left, area.right] : [area.top, area.bottom];
      const pixel = (value) => Math.min(to, Math.max(from,
        Number.isFinite(value) ? scale.getPixelForValue(value)
          : value > 0 === (direction === 'x') ? to : from));
      ctx.save();
      ctx.lineWidth = 2;
      chart.data.datasets.forEach((dataset, index) => {
        if (!chart.isDatasetVisible(index)) return;
        dataset.data.forEach((point, i) => {
          if (typeof point.low !== 'number' || typeof point.high !== 'number') return;
          const { x, y } = chart.getDatasetMeta(index).data[i];
          ctx.strokeStyle = dataset.borderColor;
          ctx.beginPath();
          for (const value of [point.low, point.high]) {
            if (direction === 'x') ctx.lineTo(pixel(value), y);
            else ctx.lineTo(x, pixel(value));
          }
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  });

  // A line that is compared with is a dataset of two points, so that the legend names it.
  const mark = (label, points, tone, dash) => ({
    label, data: points, type: 'line', borderColor: colour(tone), borderDash: dash,
    borderWidth: 1.5, pointRadius: 0, pointHitRadius: 0, pointStyle: 'line',
  });

  // `inside`: the values on the axis; some air around them, and open ends left out.
  const range_of = (inside) => {
    const finite = inside.filter((value) => typeof value === 'number' && Number.isFinite(value));
    const low = Math.min(...finite);
    const high = Math.max(...finite);
    const air = 0.08 * (high - low) || 0.05 * high;
    return { min: low - air > 0 ? low - air : low * 0.9, max: high + air };
  };

  const axis = (title, more) => ({
    title: { display: true, text: title, color: colour('dim') },
    ticks: { color: colour('dim'), ...(more && more.ticks) },
    grid: { color: colour('line'), borderColor: colour('line') },
    ...(more && more.scale),
  });

  // Chart.js thinks of an axis of logarithms in decades; speedups lie within one.
  const ratio_ticks = (scale) => {
    const candidates = [0.1, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2,
      2.5, 3, 4, 5, 7, 10, 20, 50, 100];
    scale.ticks = candidates.filter((value) => value >= scale.min && value <= scale.max)
      .map((value) => ({ value, major: value === 1 }));
  };

  const tooltip = (text) => ({
    filter: (item) => item.dataset.pointHitRadius !== 0,
    callbacks: { title: () => '', label: (item) => text(item) },
  });

  const options = (scales, text) => ({
    responsive: true, maintainAspectRatio: false, animation: false,
    scales,
    plugins: {
      legend: {
        position: 'bottom', labels: { color: colour('ink'), boxWidth: 14, usePointStyle: true },
      },
      tooltip: tooltip(text),
    },
  });

  const interval_text = (point, value) =>
    `${point.label}: ${rounded(value)}x` +
    (typeof point.low === 'number' ? ` [${rounded(point.low)}, ${rounded(point.high)}]` : '');

  const forest = (chart) => {
    const points = chart.rows.map((row, index) => ({
      x: row.value, y: index, low: end_of(row.low), high: end_of(row.high),
      label: row.label, role: row.role,
    }));
    const tones = ['dim', 'series-3', 'series-2'];
    const dashes = [[], [6, 4], [2, 3]];
    const lines = chart.lines.map((line, index) => mark(`${line.label} (${rounded(line.at)}x)`,
      [{ x: line.at, y: -0.6 }, { x: line.at, y: chart.rows.length - 0.4 }],
      tones[index % 3], dashes[index % 3]));
    const range = range_of([...points.flatMap((point) => [point.x, point.low, point.high]),
      ...chart.lines.map((line) => line.at)]);
    return {
      type: 'scatter',
      data: {
        datasets: [
          {
            label: 'speedup with its 95 % interval', data: points,
            borderColor: series(0), backgroundColor: series(0),
            pointStyle: points.map((point) => point.role === 'geomean' ? 'rectRot' : 'circle'),
            pointRadius: points.map((point) => point.role === 'geomean' ? 7 : 5),
          },
          ...lines,
        ],
      },
      options: options({
        x: axis('speedup over the champion', { scale: range }),
        y: {
          ...axis('', {
            ticks: {
              stepSize: 1, autoSkip: false,
              callback: (value) => Number.isInteger(value) && chart.rows[value]
                ? shortened(chart.rows[value].label, is_narrow() ? 14 : 32) : '',
            },
          }),
          title: { display: false },
          min: -0.6, max: chart.rows.length - 0.4, reverse: true,
          afterBuildTicks: (scale) => {
            scale.ticks = chart.rows.map((_, index) => ({ value: index }));
          },
        },
      }, (item) => interval_text(item.raw, item.raw.x)),
      plugins: [whiskers('x')],
    };
  };

  const predictions = (chart) => {
    const all = chart.groups.flatMap((group) => group.points);
    const range = range_of(all.flatMap((point) => [point.x, point.y, 1]));
    const datasets = chart.groups.map((group, index) => ({
      label: group.label,
      data: group.points.map((point) =>
        ({ ...point, low: end_of(point.low), high: end_of(point.high) })),
      borderColor: series(index), borderWidth: 2, pointRadius: 5,
      // Reported results are hollow triangles: not to be taken for measurements at a glance.
      backgroundColor: group.reported ? 'transparent' : series(index),
      pointStyle: group.reported ? 'triangle' : 'circle',
    }));
    const edge = [{ x: range.min, y: range.min }, { x: range.max, y: range.max }];
    const scale = { type: 'logarithmic', ...range, afterBuildTicks: ratio_ticks };
    const ticks = { callback: (value) => `${value}x`, autoSkip: true };
    return {
      type: 'scatter',
      data: { datasets: [...datasets, mark('as predicted', edge, 'dim', [6, 4])] },
      options: options({
        x: axis('predicted speedup', { ticks, scale }),
        y: axis('result', { ticks, scale }),
      }, (item) => `${item.dataset.label}, ${interval_text(item.raw, item.raw.y)},` +
        ` predicted ${rounded(item.raw.x)}x`),
      plugins: [whiskers('y')],
    };
  };

  const lines = (chart) => ({
    type: 'line',
    data: {
      labels: chart.x,
      datasets: chart.groups.map((group, index) => ({
        label: group.label, data: group.values, spanGaps: false,
        borderColor: series(index), backgroundColor: series(index), borderWidth: 2, pointRadius: 3,
      })),
    },
    options: options({
      x: axis(chart.x_title),
      y: axis(chart.y_title, { scale: { beginAtZero: chart.from_zero === true } }),
    }, (item) => `${item.dataset.label}, ${chart.x_title} ${item.label}: ${rounded(item.raw)}`),
  });

  const kinds = { forest, predictions, lines };
  const drawn = [];
  const draw = () => {
    drawn.splice(0).forEach((chart) => chart.destroy());
    charts.forEach((chart, index) => {
      const box = document.getElementById('chart-' + index);
      box.hidden = false;
      drawn.push(new Chart(box.querySelector('canvas'), kinds[chart.type](chart)));
    });
  };
  draw();
  darkness.addEventListener('change', draw);
})();
