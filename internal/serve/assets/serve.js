// Follows a run that is under way. The server sends the state as the page has it.
const state = document.getElementById("state");
if (state?.dataset.events) {
  const connection = document.getElementById("connection");
  const events = new EventSource(state.dataset.events);
  events.addEventListener("open", () => { connection.textContent = "This page follows the run."; });
  events.addEventListener("state", (e) => {
    const focused = state.contains(document.activeElement) ? document.activeElement.getAttribute("href") ?? document.activeElement.getAttribute("aria-label") : null;
    state.innerHTML = e.data;
    if (focused) {
      for (const other of state.querySelectorAll("a, [tabindex]")) {
        if ((other.getAttribute("href") ?? other.getAttribute("aria-label")) === focused) { other.focus({ preventScroll: true }); break; }
      }
    }
  });
  events.addEventListener("end", () => { events.close(); connection.textContent = "The run has stopped."; });
  events.addEventListener("error", () => { connection.textContent = "The connection is lost; the page tries again."; });
}
