/** The payloads of what is seen while it happens. It is no part of the log: a stored event replaces it. */

/**
 * The first delta of a subscription holds all text since its cursor, or since the beginning. A higher attempt replaces all that was shown before.
 */
export interface DeltaPayload {
  /** The number of the request that streams the text, or of the attempt at the tool call; numbers of attempts have gaps. */
  readonly attempt: number
  /** The number of characters of this kind before it, in this attempt. */
  readonly offset: number
  /** The text that was added. */
  readonly text: string
}

/** A piece of the arguments of a call while the model writes them: JSON that is not whole yet, and need never be. */
export interface ArgsPayload extends DeltaPayload {
  /** The tool, agent or prompt that the model calls. */
  readonly name: string
}

/** How far a tool call is, in the words of MCP. */
export interface ToolProgress {
  /** What is done so far, in the unit of `total`. */
  readonly progress?: number
  /** What there is to do. */
  readonly total?: number
  /** What the tool does now: the first 1,000 characters. */
  readonly message?: string
}

/** The newest report of a running call; it replaces the one before. A subscriber need not get all of them. */
export interface ProgressPayload extends ToolProgress {
  /** The number of the attempt at the call; a higher one begins anew, and the numbers have gaps. */
  readonly attempt: number
}

/** What the code of a call shows while it runs. */
export interface CallReports {
  /**
   * Shows how far the call is, to whoever watches the thread, at once. The newest report replaces the one before; the model sees none of
   * them. Reports that come faster than 10 in a second are joined. Those of a tool that code calls in place are dropped. @throws for
   * numbers that are not finite and for a message that is no text
   */
  progress(report: ToolProgress): void
  /**
   * Shows a piece of the output of the call in the same way, behind those before: at most 65,536 characters of one attempt. The result
   * of the call replaces all of it. @throws for what is no text
   */
  output(text: string): void
}
