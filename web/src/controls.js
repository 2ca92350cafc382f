// The theme button, folded sections, and the preparation for printing.

const order = ["auto", "light", "dark"];

export function prepareControls() {
  const button = document.getElementById("theme");
  let theme = "auto";
  try {
    theme = localStorage.getItem("tare-theme") ?? "auto";
  } catch {
    // A page opened from a file may have no storage: the choice then lasts one visit.
  }
  const apply = () => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    theme = order[(order.indexOf(theme) + 1) % order.length];
    try {
      localStorage.setItem("tare-theme", theme);
    } catch {
      // As above.
    }
    apply();
  });
  if (!order.includes(theme)) theme = "auto";
  apply();

  if (matchMedia("(max-width: 40rem)").matches) foldSections();

  // What a link leads to is shown, also in a folded section.
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let d = target.querySelector(":scope > details.whole") ?? target.closest("details"); d; d = d.parentElement.closest("details")) d.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  reveal();

  // Folded sections are printed too, except for the long list of trials.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not(.long)")];
    opened.forEach((d) => (d.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((d) => (d.open = false)));
}

// On a phone, what comes after the verdicts is a list of titles that open.
function foldSections() {
  for (const title of document.querySelectorAll("#verdicts ~ section > h2:first-child")) {
    const section = title.parentElement;
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    details.className = "whole";
    details.append(...section.childNodes);
    details.prepend(summary);
    summary.append(title);
    section.append(details);
  }
}
