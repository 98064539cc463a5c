// Runs before the first paint, so that a stored dark theme does not flash white.
(function () {
  try {
    const theme = localStorage.getItem("covbandit.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's theme is used then.
  }
})();
