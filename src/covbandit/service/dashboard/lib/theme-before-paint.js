// Runs before the first paint, so that a stored dark theme does not flash white.
(function () {
  try {
    var theme = localStorage.getItem("covbandit.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch (error) {
    // Storage may be forbidden; the system's theme is used then.
  }
})();
