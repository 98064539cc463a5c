// Types that the dashboard's files share. Nothing here runs and nothing is served; tsc reads it.

// What the API answers --------------------------------------------------------------------------------------------------
// These follow the service's models of answers (class SummaryAnswer and its neighbours), under their names without
// "Answer"; tests/test_dashboard.py compares the names of the fields. Times are ISO texts. A number that is not known is
// null; weights, and the mean and risk of a point on the frontier, are always known.

/** One entry per option, or one per told round. */
export type Numbers = (number | null)[];

export type Weights = Record<string, number>;

export type Feedback = "all" | "chosen" | "total";
export type OutcomeKind = "per_unit" | "amount";
export type RoundStatus = "open" | "told" | "expired";
export type RoundSource = "asked" | "outside";

/** Every answer that is not a success. */
export interface Failure {
  error?: string;
  message: string;
  hint?: string | null;
}

export interface Version {
  version: string;
  api: string;
  schema: string;
  tokens: boolean;
}

/** Where ρ matters, by the estimates so far. */
export interface RiskAversionCheck {
  known: boolean;
  reason: string | null;
  risk_aversion: number | null;
  low: number | null;
  high: number | null;
  verdict: "matters" | "too small" | "too large" | null;
  message: string | null;
}

/** A study at a glance. */
export interface Summary {
  name: string;
  /** Those in use. */
  options: string[];
  retired: string[];
  feedback: Feedback;
  outcome: OutcomeKind;
  learner: string;
  learner_class: string;
  risk_aversion: number | null;
  min_weight: number | null;
  lease_seconds: number | null;
  created_at: string;
  /** Raised by every ask, tell and change. */
  revision: number;
  rounds: number;
  told: number;
  open: number;
  expired: number;
  amended: number;
  last_told_at: string | null;
  remarks: string[];
  /** Null in lists of studies. */
  risk_aversion_check: RiskAversionCheck | null;
}

export interface Round {
  id: number;
  study: string;
  source: RoundSource;
  status: RoundStatus;
  client: string | null;
  key: string | null;
  /** What was proposed. */
  weights: Weights;
  asked_at: string;
  expires: string | null;
  told_at: string | null;
  played: Weights | null;
  /** As it was told, with the latest correction: by option, or one number if only totals are seen. */
  outcome: Weights | number | null;
  /** Per unit of weight. */
  rewards: Record<string, number | null> | null;
  /** What the weights earned together, per unit. */
  reward: number | null;
  outstanding: number;
  late: boolean;
  amendments: number;
  revision: number;
}

/** Rounds in order of their last change. */
export interface Rounds {
  rounds: Round[];
  /** Of the last round here. */
  revision: number;
  /** Of the study now. */
  study_revision: number;
  more: boolean;
}

/** Columns with one entry per option. */
export interface OptionColumns {
  option: string[];
  weight: number[];
  mean_contribution: Numbers;
  risk_contribution: Numbers;
  count: Numbers;
  width: Numbers;
}

/** Why these weights. */
export interface Explanation {
  learner: string;
  rounds: number;
  mean: number | null;
  variance: number | null;
  standard_deviation: number | null;
  width_kind: string;
  by_option: OptionColumns;
}

/** What the learner believes of the options. */
export interface Estimates {
  options: string[];
  in_use: boolean[];
  mean: Numbers;
  width: Numbers;
  width_kind: string;
  count: Numbers;
  covariance: Numbers[] | null;
  correlation: Numbers[] | null;
}

/** A mixture on the frontier. */
export interface FrontierPoint {
  risk_aversion: number | null;
  mean: number;
  sd: number;
  weights: Weights;
}

/** A mixture, with one standard error each way. */
export interface MarkedPoint {
  mean: number;
  sd: number;
  mean_error: number | null;
  sd_error: number | null;
  weights: Weights;
}

/** The best mixtures on today's estimates. */
export interface Frontier {
  known: boolean;
  /** Why it is not known yet. */
  reason: string | null;
  risk_aversion: number | null;
  points: FrontierPoint[];
  /** What ask proposes now. */
  current: MarkedPoint | null;
  /** The best for the study's ρ on the estimates. */
  optimal: MarkedPoint | null;
  error_kind: string | null;
}

/** What was played and earned, one entry per drawn round; cumulative figures count all rounds. */
export interface History {
  round: number[];
  /** Where each round stands in the order of telling, from 1. */
  place: number[];
  source: RoundSource[];
  told_at: string[];
  weights: Record<string, number[]>;
  reward: Numbers;
  cumulative_reward: Numbers;
  risk: Numbers;
  equal_weights_cumulative_reward: Numbers | null;
  equal_weights_risk: Numbers | null;
  asked_cumulative_reward: Numbers;
  asked_risk: Numbers;
  asked_equal_weights_cumulative_reward: Numbers | null;
  asked_equal_weights_risk: Numbers | null;
  told: number;
  /** Told rounds that the study had proposed. */
  asked: number;
  points: number;
  would_have_weights: Record<string, number[]> | null;
  would_have_cumulative_reward: Numbers | null;
  would_have_risk: Numbers | null;
}

/** A change of a study's configuration. */
export interface Change {
  at: string;
  kind: string;
  // What it holds depends on `kind`.
  detail: Record<string, any>;
  revision: number;
}

/** Whether the log, told again to a fresh learner, gives the stored state. */
export interface Verification {
  ok: boolean;
  exact: boolean;
  difference: number | null;
  rounds: number;
  message: string;
}

// What the API takes ----------------------------------------------------------------------------------------------------

export interface CreateBody {
  name: string;
  options: string[];
  outcome: OutcomeKind;
  learner: Record<string, unknown>;
  lease_seconds: number | null;
}

export interface AskBody {
  client?: string;
  key?: string;
}

export interface TellBody {
  outcome: Weights | number;
  /** Those really played, if not those asked. */
  weights?: Weights;
}

export interface TellOutsideBody extends TellBody {
  key?: string;
}

/** Exactly one of the four. */
export interface ChangeBody {
  risk_aversion?: number | null;
  retire?: string;
  restore?: string;
  add?: string;
}

export type ExportFormat = "csv" | "json" | "parquet";

/** How a request is made. */
export interface RequestOptions {
  signal?: AbortSignal;
  /** True for polling: a request in the background never opens a dialog. */
  background?: boolean;
}

// Elements --------------------------------------------------------------------------------------------------------------

/** What `h` appends: strings become text, lists are flattened, and what is missing is left out. */
export type Child = Node | string | null | undefined | false | Child[];

type Attribute = string | boolean | null | undefined;

/** Attributes, listeners, style and data of an element. */
export interface Properties {
  onclick?: (event: MouseEvent) => unknown;
  onchange?: (event: Event) => unknown;
  oninput?: (event: Event) => unknown;
  onsubmit?: (event: SubmitEvent) => unknown;
  style?: Partial<CSSStyleDeclaration>;
  data?: Record<string, string>;
  [aria: `aria-${string}`]: Attribute;
  autocomplete?: Attribute;
  autofocus?: Attribute;
  checked?: Attribute;
  class?: Attribute;
  colspan?: Attribute;
  datetime?: Attribute;
  disabled?: Attribute;
  download?: Attribute;
  for?: Attribute;
  hidden?: Attribute;
  href?: Attribute;
  id?: Attribute;
  inputmode?: Attribute;
  label?: Attribute;
  maxlength?: Attribute;
  method?: Attribute;
  name?: Attribute;
  placeholder?: Attribute;
  required?: Attribute;
  role?: Attribute;
  rows?: Attribute;
  scope?: Attribute;
  selected?: Attribute;
  spellcheck?: Attribute;
  tabindex?: Attribute;
  title?: Attribute;
  type?: Attribute;
  value?: string;
}

/** The head of a column of a table. */
export type ColumnHead = string | { text: string; numeric?: boolean };

// Views, charts and cards -----------------------------------------------------------------------------------------------

/**
 * Shows a view in `main`, and returns what ends it. `name` is that of the study, empty if there is none; `wanted` returns
 * false once the user has gone elsewhere.
 */
export type View = (main: HTMLElement, name: string, wanted: () => boolean) => Promise<() => void>;

/** The colour of an option, as CSS. */
export type ColourOf = (name: string) => string;

/** A part of the page that draws one kind of data. */
export interface Panel<Data> {
  element: HTMLElement;
  update(data: Data): void;
  /** Show that the data could not be read. */
  fail(error: unknown): void;
  destroy(): void;
}

/** The theme's colours for charts. */
export interface ChartColours {
  text: string;
  soft: string;
  line: string;
  card: string;
  accent: string;
  second: string;
  third: string;
}

export interface LegendEntry {
  name: string;
  colour: string;
  /** The shape of its key: a square, unless given. */
  kind?: string;
}

/** An option of ECharts, whose own types are not installed: it is not checked. */
export type ChartOption = Record<string, unknown>;

/** A chart to draw. */
export interface Drawing {
  /** What it shows, for readers who do not see it. */
  label: string;
  note?: string;
  legend?: LegendEntry[];
  height?: number;
  option: ChartOption;
  table: { head: ColumnHead[]; rows: string[][] };
  empty?: undefined;
}

/** Why there is no chart to draw yet. */
export interface NoDrawing {
  empty: string;
}

export type TooltipRow = [name: string, value: string, colour?: string | null];

/** What a tooltip shows: a title and rows; null shows nothing. */
export type TooltipRows = [title: string, rows: TooltipRow[]] | null;

/** What ECharts tells of a point under the pointer, as far as it is used here. */
export interface PointedAt {
  seriesId: string;
  dataIndex: number;
  data: { name: string };
  value: number[];
}

declare global {
  /** Apache ECharts, as far as it is used here; vendor/echarts.common.min.js defines it before any module runs. */
  const echarts: {
    init(
      element: HTMLElement,
      theme: null,
      settings: { renderer: "svg" },
    ): {
      setOption(option: ChartOption, settings: { replaceMerge: string[] }): void;
      resize(): void;
      dispose(): void;
    };
  };
}
