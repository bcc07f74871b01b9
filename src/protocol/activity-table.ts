import type {
  CallModelAnswer,
  CallModelInput,
  CompleteCallAnswer,
  CompleteCallInput,
  ExecuteToolAnswer,
  ExecuteToolInput,
  PrepareChildAnswer,
  PrepareChildInput,
  PrepareMessageAnswer,
  PrepareMessageInput,
  RunEffectAnswer,
  RunEffectInput,
} from './activities.js'
import type {
  CheckChildrenAnswer,
  CheckChildrenInput,
  DeliverReportAnswer,
  DeliverReportInput,
  ExpireChildAnswer,
  ExpireChildInput,
  SettleAnswer,
  SettleInput,
} from './end-activities.js'

/** The protocol level that this code speaks; a worker that does not know an input's level does not run it (T11). */
export const LEVEL = 1

/** Activity names are wire format. */
export const ACTIVITIES = {
  callModel: 'thread.callModel',
  executeTool: 'thread.executeTool',
  prepareChild: 'thread.prepareChild',
  prepareMessage: 'thread.prepareMessage',
  completeCall: 'thread.completeCall',
  deliverReport: 'thread.deliverReport',
  checkChildren: 'thread.checkChildren',
  expireChild: 'thread.expireChild',
  runEffect: 'thread.runEffect',
  settle: 'thread.settle',
} as const

/** The activities as the workflow calls them, by their short names. */
export interface ThreadActivities {
  callModel(input: CallModelInput): Promise<CallModelAnswer>
  executeTool(input: ExecuteToolInput): Promise<ExecuteToolAnswer>
  prepareChild(input: PrepareChildInput): Promise<PrepareChildAnswer>
  prepareMessage(input: PrepareMessageInput): Promise<PrepareMessageAnswer>
  completeCall(input: CompleteCallInput): Promise<CompleteCallAnswer>
  deliverReport(input: DeliverReportInput): Promise<DeliverReportAnswer>
  checkChildren(input: CheckChildrenInput): Promise<CheckChildrenAnswer>
  expireChild(input: ExpireChildInput): Promise<ExpireChildAnswer>
  runEffect(input: RunEffectInput): Promise<RunEffectAnswer>
  settle(input: SettleInput): Promise<SettleAnswer>
}

/**
 * What a step's activities are told nearly always: it is not sent, for each step's inputs stay in the history. Wire format:
 * a value here may never change, and a field that has none may never get one (T11).
 */
const USUAL = {
  [ACTIVITIES.callModel]: {
    facts: [],
    knownPlan: null,
    trigger: null,
    toolFirst: false,
    frame: null,
    asked: false,
    activated: true,
    sideStarts: false,
    wordless: false,
    drain: [],
    start: null,
  } satisfies Partial<CallModelInput>,
  [ACTIVITIES.executeTool]: {
    facts: [],
    depth: 0,
    queued: false,
    handedOff: false,
    response: null,
  } satisfies Partial<ExecuteToolInput>,
} as const

/** An input without what is as usual; of a run that goes on, the plan that is known is the one it runs. */
export function leanInput<Input extends object>(activity: string, input: Input): Partial<Input> {
  const usual = usualOf(activity, input)
  return Object.fromEntries(
    Object.entries(input).filter(([name, value]) => !(name in usual) || !isSame(value, usual[name])),
  ) as Partial<Input>
}

/** The input as it was before `leanInput`. */
export function wholeInput<Input extends object>(activity: string, input: Input): Input {
  return { ...usualOf(activity, input), ...input }
}

function usualOf(activity: string, input: object): Readonly<Record<string, unknown>> {
  if (activity === ACTIVITIES.executeTool) return USUAL[activity]
  if (activity !== ACTIVITIES.callModel) return {}
  return { ...USUAL[activity], ...('plan' in input && { knownPlan: input.plan }) }
}

function isSame(value: unknown, usual: unknown): boolean {
  return value === usual || (Array.isArray(usual) && Array.isArray(value) && value.length === 0)
}
