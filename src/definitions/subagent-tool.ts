/**
 * An entry of a prompt's tools that starts an exposed `dual_ai` agent in a thread of its own. One that is not resumable is
 * called by its own name, with the arguments of `requiredSchema` of the agent's side A prompt; a resumable one through
 * `subagent_create` and `subagent_message`.
 */
export interface SubagentToolConfig<Name extends string = string> {
  readonly name: Name
  /**
   * Whether the call waits for the result; else it comes later, as a silent message.
   * @default true
   */
  readonly blocking?: boolean
  /**
   * How long a call that waits does so, in milliseconds: then it gets an error, and a subagent that is not resumable is
   * ended. @default as long as it takes
   */
  readonly timeout?: number
  /**
   * An instance stays, and takes more messages.
   * @default false
   */
  readonly resumable?: false | ResumableConfig
  /**
   * Started as soon as the prompt becomes active, before its first model step: at the thread's start, and by a handoff.
   * @default false
   */
  readonly immediate?: boolean | ImmediateConfig
  /** Name of a variable: offered and runnable only while that is `true`, `1` or `yes`, in any case. */
  readonly optional?: string
  /** The call takes a list `items` of arguments, starts one child for each, and is answered once, when all have ended. */
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
  /** Open instances at a time. @default no limit but that of the thread */
  readonly maxInstances?: number
  /**
   * `explicit`: nothing is told to the parent by itself; tools and hooks call `notifyParent` and `setStatus`.
   * @default 'implicit'
   */
  readonly parentCommunication?: 'implicit' | 'explicit'
}

/** Each is the name of a variable of the parent. */
interface ImmediateConfig {
  /** Shown to the model that derives the first arguments, as a hint for the name. */
  readonly nameEnv?: string
  /** Shown to the model that derives the first arguments, as what is to be done. */
  readonly descriptionEnv?: string
  /** Values that the child gets as its own; no model sees them, unless they are also named above. */
  readonly scopedEnv?: readonly string[]
}
