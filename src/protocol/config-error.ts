const MARKER = Symbol.for('everthread.ConfigError')

/** Thrown before anything starts: everything that is wrong with a configuration, all at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]
  readonly [MARKER] = true

  constructor(problems: readonly string[]) {
    super(describe(problems))
    this.problems = problems
  }

  /** True for a ConfigError of any copy of this package. */
  static isInstance(error: unknown): error is ConfigError {
    return error instanceof Error && MARKER in error
  }
}

function describe(problems: readonly string[]): string {
  const heading = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  return [heading, ...problems.map((problem, index) => `${index + 1}. ${problem}`)].join('\n')
}
