/** What crosses the line between the fake server and a workflow: jobs in, commands out; payloads are JSON text. */

export type Job =
  | { readonly kind: 'signal'; readonly name: string; readonly input: string }
  | { readonly kind: 'update'; readonly id: string; readonly name: string; readonly input: string }
  | { readonly kind: 'cancel' }
  | { readonly kind: 'activity'; readonly seq: number; readonly end: ActivityEnd }
  | { readonly kind: 'timer'; readonly seq: number }
  | { readonly kind: 'childStarted'; readonly seq: number; readonly already: boolean }
  | { readonly kind: 'childClosed'; readonly seq: number; readonly status: string }
  | { readonly kind: 'told'; readonly seq: number; readonly refusal: 'gone' | 'full' | null }

export type ActivityEnd =
  /** `byOperator`: with something that is no answer of it. */
  | { readonly kind: 'answered'; readonly answer: string; readonly byOperator?: true }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'failed' }

export type Command =
  | {
      readonly kind: 'activity'
      readonly seq: number
      readonly name: string
      readonly input: string
      readonly taskQueue: string | null
    }
  | { readonly kind: 'cancelActivity'; readonly seq: number }
  | { readonly kind: 'timer'; readonly seq: number; readonly delay: number }
  | { readonly kind: 'cancelTimer'; readonly seq: number }
  | {
      readonly kind: 'child'
      readonly seq: number
      readonly workflowId: string
      readonly start: string
      readonly labels: string
    }
  | {
      readonly kind: 'signal'
      readonly seq: number
      readonly workflowId: string
      readonly name: string
      readonly input: string
    }
  | { readonly kind: 'cancelWorkflow'; readonly seq: number; readonly workflowId: string }
  | { readonly kind: 'update'; readonly id: string; readonly refusal: string | null }
  | { readonly kind: 'continueAsNew'; readonly start: string; readonly carried: string }
  | { readonly kind: 'complete'; readonly result: string }
  | { readonly kind: 'cancelled' }
  /** An error of the workflow's own code: its task fails for ever. */
  | { readonly kind: 'bug'; readonly message: string }

/** What a workflow task shows a workflow of its own history. */
export interface HistoryInfo {
  readonly historyLength: number
  readonly historySize: number
  readonly continueAsNewSuggested: boolean
}

/** One workflow task: the jobs in the order in which the SDK applies them. */
export interface Task {
  readonly now: number
  readonly jobs: readonly Job[]
  readonly info: HistoryInfo
}

/** As the SDK's core sorts them: signals and updates before whatever else has happened. */
export function inOrder(jobs: readonly Job[]): readonly Job[] {
  const isMessage = ({ kind }: Job): boolean => kind === 'signal' || kind === 'update' || kind === 'cancel'
  return [...jobs.filter(isMessage), ...jobs.filter((job) => !isMessage(job))]
}

export function closesRun({ kind }: Command): boolean {
  return kind === 'continueAsNew' || kind === 'complete' || kind === 'cancelled'
}
