'use strict';
(() => {
  const svg = document.documentElement, data = svg.dataset;
  const margin = +data.margin, char = +data.char, whole = +data.whole;
  const details = document.getElementById('details');
  // begin and value (the width) are in units of the metric.
  const frames = [...document.querySelectorAll('.f')].map(g => {
    const [, rect, text] = g.children;
    const lines = g.children[0].textContent.split('\n');
    return {g, rect, text, begin: +g.dataset.b, value: +g.dataset.v, depth: +g.dataset.d,
      name: lines[0], short: g.dataset.n || lines[0], lines};
  });
  if (!frames.length || !svg.viewBox) return;
  let zoom = frames[0], at = frames[0], pattern = null, width = 0;

  const help = 'Click to zoom, Esc to reset, arrow keys and Enter to navigate, / to search';

  // Shortens a name to n characters: drops template arguments first, then the middle.
  function label(name, n) {
    if (n < 5 && name.length > n) return '';
    for (let last = ''; name.length > n && name !== last;) {
      last = name;
      name = name.replace(/<(?!…>)[^<>]*>/, '<…>').replace(/<[^<>]*<…>[^<>]*>/, '<…>');
    }
    if (name.length <= n) return name;
    const head = Math.floor((n - 1) / 3);
    return name.slice(0, head) + '…' + name.slice(name.length - (n - 1 - head));
  }

  function draw() {
    const scale = (width - 2 * margin) / Math.max(zoom.value, 1);
    for (const f of frames) {
      const end = f.begin + f.value;
      const above = f.depth < zoom.depth && f.begin <= zoom.begin && end >= zoom.begin + zoom.value;
      const begin = above || f === zoom ? zoom.begin : f.begin;
      const wide = above || f === zoom ? width - 2 * margin : f.value * scale;
      const shown = above || f === zoom ||
        f.depth > zoom.depth && f.begin >= zoom.begin && end <= zoom.begin + zoom.value && wide >= 0.1;
      f.g.style.display = shown ? '' : 'none';
      if (!shown) continue;
      const x = (begin - zoom.begin) * scale;
      f.rect.setAttribute('x', x.toFixed(2));
      f.rect.setAttribute('width', Math.max(wide - 0.5, 0.1).toFixed(2));
      f.text.setAttribute('x', (x + 4).toFixed(2));
      f.text.textContent = label(f.short, Math.floor((wide - 7) / char));
      f.g.classList.toggle('above', above);
    }
  }

  // Describes a frame in one line; without a frame, the result of the search.
  function describe(f) {
    at.g.classList.remove('at');
    if (f) {
      at = f;
      details.textContent = label(f.short, Math.floor((width - 2 * margin) / char) - 60) + ' — ' +
        f.lines.slice(1).filter(l => !l.startsWith('/')).join(', ');
    } else {
      details.textContent = pattern ? found() : help;
    }
  }

  function found() {
    let sum = 0, end = 0, n = 0; // a match within a match counts once
    for (const f of frames) {
      if (!f.found) continue;
      n++;
      if (f.begin < end) continue;
      sum += f.value;
      end = f.begin + f.value;
    }
    const share = whole ? (100 * sum / whole).toFixed(2) + ' %' : '';
    return n + ' found, ' + (sum.toLocaleString('en-US') + ' ' + data.unit).trim() + ', ' + share;
  }

  function search(text) {
    try { pattern = text ? new RegExp(text, 'i') : null; } catch { return; }
    for (const f of frames) {
      f.found = !!pattern && f.depth > 0 && pattern.test(f.name);
      f.g.classList.toggle('found', f.found);
    }
    describe(null);
  }

  function go(f) {
    zoom = f;
    draw();
    describe(f);
  }

  // Frames are in the order of the tree: a frame's first child comes right after it.
  function next(step) {
    const i = frames.indexOf(at), shown = f => f.g.style.display === '';
    if (step === 'down') {
      const child = frames[i + 1];
      return child && child.depth > at.depth && shown(child) ? child : at;
    }
    if (step === 'up') { let k = i; while (k > 0 && frames[k].depth >= at.depth) k--; return frames[k]; }
    for (let k = i + step; frames[k]; k += step) if (frames[k].depth === at.depth && shown(frames[k])) return frames[k];
    return at;
  }

  const box = document.createElementNS('http://www.w3.org/2000/svg', 'foreignObject');
  const input = document.createElementNS('http://www.w3.org/1999/xhtml', 'input');
  Object.entries({
    type: 'search', class: 'search', placeholder: 'Search (regexp)  /',
    'aria-label': 'Search functions by a regular expression',
  }).forEach(a => input.setAttribute(...a));
  Object.entries({width: 220, height: 28, y: 12}).forEach(a => box.setAttribute(...a));
  box.append(input);
  svg.append(box);
  input.addEventListener('input', () => search(input.value));

  const of = e => { const g = e.target.closest && e.target.closest('.f'); return g && frames.find(f => f.g === g); };
  svg.addEventListener('click', e => { const f = of(e); if (f) { go(f); svg.focus(); } });
  svg.addEventListener('mouseover', e => describe(of(e)));
  svg.addEventListener('keydown', e => {
    if (e.target === input) {
      if (e.key === 'Escape') { input.value = ''; search(''); svg.focus(); }
      return;
    }
    const step = {ArrowDown: 'down', ArrowUp: 'up', ArrowLeft: -1, ArrowRight: 1}[e.key];
    if (step) { describe(next(step)); at.g.classList.add('at'); }
    else if (e.key === 'Enter') go(at);
    else if (e.key === 'Escape') go(frames[0]);
    else if (e.key === '/') input.focus();
    else return;
    e.preventDefault();
  });

  function fit() {
    svg.setAttribute('width', '100%'); // excludes the scroll bar
    width = Math.max(svg.getBoundingClientRect().width, 320);
    const height = svg.viewBox.baseVal.height;
    svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    box.setAttribute('x', width - margin - 220);
    draw();
  }
  window.addEventListener('resize', fit);
  fit();
  describe(null);
})();
