/** One measured number; `--json` prints each as a line of its own. */
export interface Figure {
  readonly bench: string
  readonly figure: string
  readonly value: number
  readonly unit: string
}

/** What a bench found: figures for programs, tables for people. */
export interface BenchResult {
  readonly figures: readonly Figure[]
  /** Lines of cells, the first one its head. */
  readonly table: readonly (readonly string[])[]
  readonly notes: readonly string[]
}
