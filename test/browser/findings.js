// What is wrong with the page that is open, as sentences. The rules are some of axe's: what
// a page as small as these can do wrong.
(() => {
  const found = [];
  const expect = (fine, sentence) => { if (!fine) found.push(sentence); };
  const all = (selector) => [...document.querySelectorAll(selector)];
  const root = document.documentElement;

  // Colours are [red, green, blue, alpha], as computed styles have them.
  const colours = (text) => [...text.matchAll(/rgba?\(([^)]+)\)/g)].map(([, parts]) => {
    const [red, green, blue, alpha = 1] = parts.split(/[ ,/]+/).map(Number);
    return [red, green, blue, alpha];
  });
  const over = ([red, green, blue, alpha], below) =>
    [red, green, blue].map((part, i) => part * alpha + below[i] * (1 - alpha)).concat(1);
  const canvas = () => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.backgroundColor = 'Canvas';
    const [colour] = colours(getComputedStyle(probe).backgroundColor);
    probe.remove();
    return colour;
  };
  // What may be behind an element: where there is a gradient, each of its colours.
  const behind = (element) => {
    if (!element) return [canvas()];
    const style = getComputedStyle(element);
    const [colour] = colours(style.backgroundColor);
    const below = colour[3] === 1 ? [colour] : behind(element.parentElement).map((b) => over(colour, b));
    return below.concat(colours(style.backgroundImage).flatMap((stop) => below.map((b) => over(stop, b))));
  };
  const luminance = (colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (a, b) => {
    const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (light + 0.05) / (dark + 0.05);
  };
  const opacity = (element) => (element ? getComputedStyle(element).opacity * opacity(element.parentElement) : 1);

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    const range = document.createRange();
    range.selectNodeContents(node);
    const boxes = [...range.getClientRects()];
    const text = node.textContent.trim();
    if (!text || !boxes.length || element.closest('style, script')) continue;
    texts++;
    const [colour] = colours(getComputedStyle(element).color);
    const seen = [...colour.slice(0, 3), colour[3] * opacity(element)];
    const worst = Math.min(...behind(element).map((b) => contrast(over(seen, b), b)));
    expect(worst >= 4.5, `the contrast of "${text}" is ${worst.toFixed(2)}, less than 4.5`);
    expect(element.closest('main, header, footer, nav, [role=main]'), `"${text}" is in no landmark`);
    expect(boxes.every((box) => box.left >= 0 && box.right <= root.clientWidth), `"${text}" is wider than the screen`);
  }
  expect(texts > 0, 'there is no text');
  expect(root.scrollWidth <= root.clientWidth, `it scrolls sideways: ${root.scrollWidth} of ${root.clientWidth}`);

  expect(/^[a-z]{2,3}(-\w+)*$/.test(root.lang), `the language is "${root.lang}"`);
  expect(['', 'ltr', 'rtl'].includes(root.dir), `the direction is "${root.dir}"`);
  expect(document.title.trim(), 'it has no title');
  expect(all('h1').length === 1, `it has ${all('h1').length} headings of the first level`);
  expect(all('main').length === 1, `it has ${all('main').length} main landmarks`);
  const viewport = document.querySelector('meta[name=viewport]')?.content ?? '';
  expect(/width=device-width/.test(viewport), 'it has no viewport for phones');
  expect(!/user-scalable|maximum-scale/.test(viewport), 'it cannot be zoomed');
  all('img').forEach((image) => expect(image.hasAttribute('alt'), `${image.src} has no text`));
  all('svg').forEach((image) => expect(image.getAttribute('aria-hidden') === 'true' || image.getAttribute('aria-label'), 'a drawing is neither named nor hidden'));
  all('a, button').forEach((control) => {
    const name = control.textContent.trim() || control.getAttribute('aria-label');
    const box = control.getBoundingClientRect();
    expect(name, 'a link has no name');
    expect(box.width >= 24 && box.height >= 24, `"${name}" is too small to touch: ${box.width} × ${box.height}`);
  });
  const ids = all('[id]').map((element) => element.id);
  expect(new Set(ids).size === ids.length, 'an id is there twice');
  return found;
})();
