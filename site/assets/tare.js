// What the theme leaves out for the keyboard and for screen readers: what scrolls can be
// scrolled by keys, and the dialog of the search has a name.
const accessible = () => {
  document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
  for (const box of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
};
addEventListener("load", accessible);
addEventListener("resize", accessible);
