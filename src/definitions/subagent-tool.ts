/**
 * An entry of a prompt's tools that starts an exposed `dual_ai` agent in a thread of its own and waits for its result.
 * The arguments of the call are those of `requiredSchema` of the agent's side A prompt.
 */
export interface SubagentToolConfig<Name extends string = string> {
  readonly name: Name
  /** @default true */
  readonly blocking?: true
  /** @default false */
  readonly resumable?: false
  /** @default false */
  readonly immediate?: false
  /** Argument that becomes the first user message of the child. */
  readonly initUserMessageProperty?: string
  /** Argument that holds one attachment path or several, copied into the child before its first message. */
  readonly initAttachmentsProperty?: string
  /** Argument that names the child. */
  readonly initAgentNameProperty?: string
}
