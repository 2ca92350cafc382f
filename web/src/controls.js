// The theme button, and what printing needs.

const order = ["auto", "light", "dark"];

export function prepareControls() {
  const button = document.getElementById("theme");
  let theme = "auto";
  try {
    theme = localStorage.getItem("tare-theme") ?? "auto";
  } catch {
    // A page from a file may have no storage: then the choice lasts a visit.
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

  // What is folded away is printed too, but for the long list of trials.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open]):not(.long)")];
    opened.forEach((d) => (d.open = true));
  });
  addEventListener("afterprint", () => opened.forEach((d) => (d.open = false)));
}
