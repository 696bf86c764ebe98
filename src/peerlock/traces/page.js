// The page around a space-time diagram: zoom, pan, hover, hide, and step by step.
//
// Everything drawn names its steps in data-steps; every line of the list is a step.
"use strict";

(() => {
  const stage = document.getElementById("stage");
  const svg = stage.querySelector("svg");
  const lines = [...document.querySelectorAll("#steps li")];
  const details = document.getElementById("details");
  const full = { width: svg.viewBox.baseVal.width, height: svg.viewBox.baseVal.height };

  // Links between steps and what is drawn of them

  const stepsOf = (drawn) => drawn.dataset.steps.split(" ").map(Number);
  const drawings = [...svg.querySelectorAll("[data-steps]")];
  const drawnAt = lines.map(() => []);
  for (const drawn of drawings) {
    for (const step of stepsOf(drawn)) drawnAt[step].push(drawn);
    const title = drawn.querySelector("title");
    drawn.dataset.story = title.textContent;
    title.remove(); // or the browser would show it beside ours
  }
  svg.setAttribute("aria-label", svg.querySelector("title").textContent);
  svg.querySelector("title").remove();

  // The view: its left top corner in the drawing, and pixels of screen per pixel drawn

  const view = { x: 0, y: 0, zoom: 1 };
  const names = svg.querySelector(".names");
  const axis = svg.querySelector(".axis");
  const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

  const inside = (start, size, room) =>
    size <= room ? (size - room) / 2 : clamp(start, -20, size - room + 20);

  const HINT = 30; // pixels below the diagram, as in page.css
  const READABLE = 0.65; // the smallest zoom at which labels can be read
  const SMALLEST = 0.05;

  const high = () => Math.max(0, stage.clientHeight - HINT); // of the screen; none in a flat window
  const room = () => ({ width: stage.clientWidth / view.zoom, height: high() / view.zoom });

  function show() {
    const { width, height } = room();
    view.x = full.width <= width ? 0 : inside(view.x, full.width, width);
    view.y = inside(view.y, full.height, height);
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${width} ${height}`);
    names.setAttribute("transform", `translate(${Math.max(0, view.x)} 0)`);
    const below = Math.min(0, view.y + height - full.height);
    axis.setAttribute("transform", `translate(0 ${below})`);
  }

  function zoomBy(factor, x = stage.clientWidth / 2, y = stage.clientHeight / 2) {
    const zoom = clamp(view.zoom * factor, SMALLEST, 12);
    view.x += x / view.zoom - x / zoom;
    view.y += y / view.zoom - y / zoom;
    view.zoom = zoom;
    show();
  }

  function fitAll() {
    view.zoom = Math.max(SMALLEST, Math.min(stage.clientWidth / full.width, high() / full.height));
    show();
  }

  function readable() {
    // As high as the window, but neither tiny nor huge.  A run that can be read as a whole
    // is shown as a whole; a longer one starts at its start.
    view.zoom = clamp(high() / full.height, 0.8, 1.5);
    const whole = stage.clientWidth / full.width;
    if (whole >= READABLE) view.zoom = Math.min(view.zoom, whole);
    show();
  }

  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) {
      view.x += (event.deltaX || event.deltaY) / view.zoom;
      show();
    } else {
      const box = stage.getBoundingClientRect();
      const pixels = event.deltaMode === 1 ? event.deltaY * 24 : event.deltaY;
      zoomBy(Math.exp(-pixels / 480), event.clientX - box.left, event.clientY - box.top);
    }
  }, { passive: false });

  let drag = null;
  stage.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, moved: false };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const dx = event.clientX - drag.x;
    const dy = event.clientY - drag.y;
    if (!drag.moved && Math.hypot(dx, dy) < 4) return; // still a click
    Object.assign(drag, { x: event.clientX, y: event.clientY, moved: true });
    stage.classList.add("dragging");
    view.x -= dx / view.zoom;
    view.y -= dy / view.zoom;
    show();
  });
  window.addEventListener("pointerup", (event) => {
    const drawn = event.target.closest?.("#stage [data-steps]");
    if (drag && !drag.moved && drawn) select(stepsOf(drawn)[0]);
    drag = null;
    stage.classList.remove("dragging");
  });

  // Hover

  function light(drawn) {
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    svg.classList.toggle("focused", drawn.length > 0);
    for (const element of drawn) {
      element.classList.add("lit");
      for (const step of stepsOf(element)) lines[step].classList.add("lit");
    }
  }

  function explain(words, event) {
    details.textContent = words;
    details.hidden = !words;
    const left = Math.min(event.clientX + 16, innerWidth - details.offsetWidth - 8);
    const top = Math.min(event.clientY + 16, innerHeight - details.offsetHeight - 8);
    details.style.left = `${Math.max(8, left)}px`;
    details.style.top = `${Math.max(8, top)}px`;
  }

  // Within the list; the page itself stays where it is.
  function scrollTo(line) {
    const list = line.parentElement;
    const top = line.offsetTop - list.offsetTop;
    const low = top + line.offsetHeight - list.clientHeight;
    list.scrollTop = clamp(list.scrollTop, low, top);
  }

  let hovered = null;
  function hover(drawn, event) {
    explain(drawn ? drawn.dataset.story : "", event);
    if (drawn === hovered) return;
    hovered = drawn;
    // An arrow and its label, a bar and its fence, are one.
    const one = drawn && drawings.filter((d) => d.dataset.steps === drawn.dataset.steps);
    light(one || []);
    if (drawn) scrollTo(lines[stepsOf(drawn)[0]]);
  }

  stage.addEventListener("pointermove", (event) =>
    hover(drag?.moved ? null : event.target.closest("[data-steps]"), event));
  stage.addEventListener("pointerleave", (event) => hover(null, event));
  lines.forEach((line, step) => {
    line.addEventListener("pointerenter", () => light(drawnAt[step]));
    line.addEventListener("pointerleave", () => light([]));
    line.addEventListener("click", () => select(step));
  });

  // Step by step: the present in bold; the future is not shown

  let present = null;
  const nodes = names.querySelectorAll(".name:not(.after)").length;
  const cursor = document.createElementNS("http://www.w3.org/2000/svg", "line");
  cursor.id = "cursor";
  cursor.setAttribute("y1", 0);
  cursor.setAttribute("y2", full.height);
  cursor.classList.add("hidden");
  svg.append(cursor);

  // What is drawn from the past into the future ends at the present.
  const past = document.createElementNS("http://www.w3.org/2000/svg", "clipPath");
  past.id = "past";
  const shown = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  shown.setAttribute("height", full.height);
  past.append(shown);
  svg.append(past);

  function select(step) {
    present = step;
    history.replaceState(null, "", step === null ? location.pathname : `#step=${step + 1}`);
    const now = step === null ? full.width : Number(lines[step].dataset.x) + 6;
    shown.setAttribute("width", now);
    const isPast = (i) => step === null || i <= step;
    lines.forEach((line, i) => {
      line.classList.toggle("future", !isPast(i));
      if (i === step) line.setAttribute("aria-current", "step");
      else line.removeAttribute("aria-current");
    });
    for (const drawn of drawings) {
      const steps = stepsOf(drawn);
      const words = drawn.tagName === "text"; // shown as a whole, or not at all
      const ahead = words && Number(drawn.getAttribute("x")) > now;
      drawn.classList.toggle("future", !isPast(steps[0]) || ahead);
      if (step === null || words) drawn.removeAttribute("clip-path");
      else drawn.setAttribute("clip-path", "url(#past)");
      drawn.classList.toggle("now", steps.includes(step));
    }
    cursor.classList.toggle("hidden", step === null);
    stage.classList.toggle("crowded", step !== null && nodes > 15);
    showState(step ?? lines.length - 1);
    if (step !== null) bringIntoView(step);
  }

  function bringIntoView(step) {
    const x = Number(lines[step].dataset.x);
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    scrollTo(lines[step]);
    const y = Number(lines[step].dataset.y);
    const { width, height } = room();
    if (x < view.x + 0.12 * width || x > view.x + 0.92 * width) view.x = x - width / 2;
    if (y < view.y + 30 || y > view.y + height - 60) view.y = y - height / 2;
    show();
  }

  function walk(direction) {
    let step = present === null ? (direction > 0 ? -1 : lines.length) : present;
    do step += direction;
    while (lines[step]?.classList.contains("hidden"));
    if (lines[step]) select(step);
    return Boolean(lines[step]);
  }

  // Play: a step each 0.6 seconds, from the start if it is over

  let playing = 0;
  const playButton = document.querySelector('[data-action="play"]');
  function pause() {
    clearInterval(playing);
    playing = 0;
    playButton.textContent = "play";
  }
  function play() {
    if (playing) return pause();
    if (present === null || present === lines.length - 1) select(0);
    playButton.textContent = "pause";
    playing = setInterval(() => walk(1) || pause(), 600);
  }

  // Buttons and keys

  for (const button of document.querySelectorAll("[data-type][aria-pressed]")) {
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", shown);
      const type = button.dataset.type;
      for (const element of document.querySelectorAll(`main [data-type="${type}"]`)) {
        element.classList.toggle("hidden", !shown);
      }
    });
  }

  const actions = {
    back: () => walk(-1),
    forward: () => walk(1),
    play,
    in: () => zoomBy(1.3),
    out: () => zoomBy(1 / 1.3),
    fit: fitAll,
  };
  for (const button of document.querySelectorAll("[data-action]")) {
    button.addEventListener("click", actions[button.dataset.action]);
  }

  const keys = {
    ArrowLeft: actions.back,
    ArrowRight: actions.forward,
    Home: () => lines.length && select(0),
    End: () => lines.length && select(lines.length - 1),
    Escape: () => (pause(), select(null)),
    " ": play,
    "+": actions.in,
    "-": actions.out,
    0: actions.fit,
  };
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });

  function openLinked() {
    const linked = Number(/^#step=(\d+)$/.exec(location.hash)?.[1]);
    if (lines[linked - 1]) select(linked - 1);
  }

  window.addEventListener("resize", show);
  window.addEventListener("hashchange", openLinked);
  readable();
  showState(lines.length - 1);
  openLinked();
})();
