// Rules for the dashboard's JavaScript: `npm run lint`, or .ci/javascript.

import js from "@eslint/js";
import globals from "globals";

const DASHBOARD = "src/covbandit/service/dashboard";

/** The folders that the files of `folder` must not import from: imports point from views to charts and cards to lib. */
const closed = (folder, ...others) => ({
  files: [`${DASHBOARD}/${folder}/**/*.js`],
  rules: {
    "no-restricted-imports": [
      "error",
      { patterns: [{ group: others.map((other) => `../${other}/*`), message: `${folder}/ does not import from here.` }] },
    ],
  },
});

export default [
  { ignores: [`${DASHBOARD}/vendor/`] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-shadow": ["error", { builtinGlobals: false }],
      "no-throw-literal": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": ["error", { destructuring: "all" }],
    },
  },
  { files: [`${DASHBOARD}/**/*.js`], languageOptions: { globals: { ...globals.browser, echarts: "readonly" } } },
  { files: [`${DASHBOARD}/lib/theme-before-paint.js`], languageOptions: { sourceType: "script" } },
  closed("lib", "charts", "cards", "views"),
  closed("charts", "cards", "views"),
  closed("cards", "charts", "views"),
];
