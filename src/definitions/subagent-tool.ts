/**
 * An entry of a prompt's tools that starts an exposed agent in a thread of its own: one of type `dual_ai`, or any other with `session`. The model calls it by its own
 * name, with the arguments of `requiredSchema` of the agent's side A prompt; a resumable one is called by the tools
 * `subagent_create` and `subagent_message` instead.
 */
export interface SubagentToolConfig<Name extends string = string> {
  readonly name: Name
  /**
   * For an agent of type `ai_human`. True: it works in a session of one side, which ends with its answer. If its prompt has no
   * `requiredSchema`, the call takes `{ message }`, its first message. False: it takes the conversation over (a handoff).
   * @default false, with a warning
   */
  readonly session?: boolean
  /**
   * True if the call waits for the result. Otherwise the result comes later, as a silent message.
   * @default true
   */
  readonly blocking?: boolean
  /**
   * Milliseconds that a blocking call waits. Then it gets an error, and a subagent that is not resumable is terminated.
   * @default no limit
   */
  readonly timeout?: number
  /**
   * Settings of instances that stay open and take more messages.
   * @default false
   */
  readonly resumable?: false | ResumableConfig
  /**
   * Starts it when the prompt becomes active, before its first model step: when the thread starts, or after a handoff.
   * @default false
   */
  readonly immediate?: boolean | ImmediateConfig
  /** Name of a variable. The subagent is offered and can run only while its value is `true`, `1` or `yes`, in any case. */
  readonly optional?: string
  /** The call takes a list `items` of arguments, starts one child for each, and gets one answer when all have ended. */
  readonly fanOut?: boolean
  /** Argument that becomes the first user message of the child. */
  readonly initUserMessageProperty?: string
  /** Argument that holds one attachment path or several, copied into the child before its first message. */
  readonly initAttachmentsProperty?: string
  /** Argument that names the child. */
  readonly initAgentNameProperty?: string
}

interface ResumableConfig {
  /** The side that gets messages: `side_a` as a user's, `side_b` as an assistant's. */
  readonly receives_messages: 'side_a' | 'side_b'
  /** The most open instances at a time. @default only the limit of the thread */
  readonly maxInstances?: number
  /**
   * With `explicit` the parent gets no automatic messages: tools and hooks call `notifyParent` and `setStatus`.
   * @default 'implicit'
   */
  readonly parentCommunication?: 'implicit' | 'explicit'
}

/** Names of variables of the parent. */
interface ImmediateConfig {
  /** Its value is a hint for the name, for the model that derives the first arguments. */
  readonly nameEnv?: string
  /** Its value is the task, for the model that derives the first arguments. */
  readonly descriptionEnv?: string
  /** Their values become the child's own; no model sees them unless they are also named above. */
  readonly scopedEnv?: readonly string[]
}
