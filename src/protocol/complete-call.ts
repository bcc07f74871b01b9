/** How a call that did not end with its own activity gets its result. */
import type {
  CallInput,
  EndAnswer,
  Frame,
  PendingAnswer,
  ResultAnswer,
  TerminatedAnswer,
  WaitAnswer,
} from './activities.js'
import type { CallReport } from './child-activities.js'

export interface CompleteCallInput extends CallInput {
  readonly by: Completion
}

/** What answers a call that did not end with its own activity. */
export type Completion =
  /** All that the call waited for have answered; several are those of a group. */
  | {
      readonly kind: 'children'
      readonly reports: readonly { readonly reference: string; readonly report: CallReport }[]
    }
  /** The call does not wait: its children run, or have its message. */
  | { readonly kind: 'sent'; readonly references: readonly string[] }
  /** The nested step of a prompt tool is over; its rows say what came of it. */
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'response'; readonly requestId: string }
  /** The activity of another worker has ended, well or not: the row of the call says what came of it. */
  | { readonly kind: 'remote' }

export type CompleteCallAnswer = ResultAnswer | PendingAnswer | WaitAnswer | EndAnswer | TerminatedAnswer
