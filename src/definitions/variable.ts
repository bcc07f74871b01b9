/** A value that an agent needs from outside; the first that has it gives it: thread, its parents, worker, agent, prompt. */
export interface VariableDefinition {
  readonly name: string
  /** `secret`: encrypted at rest, for tools only, never in a prompt. */
  readonly type: 'text' | 'secret'
  /** A run that lacks it is blocked until it is supplied. */
  readonly required: boolean
  /**
   * Whether the parent's value does not count here.
   * @default false
   */
  readonly scoped?: boolean
  readonly description: string
}
