import type {
  AheadPair,
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
  StoreStopAnswer,
  StoreStopInput,
  SettleInput,
} from './end-activities.js'
import { LIMITS } from './limits.js'
import type { ThreadOperation, OutboundOperation } from './operations.js'
import type { Plan, PromptPlan, RunCaps, SidePlan } from './plan.js'
import type { PreparedChild, Usage } from './status.js'
import { isObject, isTaskQueue, utf8Length } from './values.js'
import type { Fields } from './values.js'

/** The protocol level of this code. A worker does not run an input of a level that it does not have (T11). */
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
  storeStop: 'thread.storeStop',
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
  storeStop(input: StoreStopInput): Promise<StoreStopAnswer>
  settle(input: SettleInput): Promise<SettleAnswer>
}

/**
 * The usual values in the inputs of a step. They are not sent, because the inputs of every step stay in the history.
 * Wire format: a value here must never change, and a field without one must never get one (T11).
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

/** Removes the usual values from an input. The usual `knownPlan` is the run's own plan. */
export function leanInput<Input extends object>(activity: string, input: Input): Partial<Input> {
  const usual = usualOf(activity, input)
  return Object.fromEntries(
    Object.entries(input).filter(([name, value]) => !(name in usual) || !isSame(value, usual[name])),
  ) as Partial<Input>
}

/** Restores the values that `leanInput` removed. */
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

/**
 * The guard of activity answers. Anyone can complete an activity with any JSON (`temporal activity complete --result
 * '{}'`), and workflow code that throws on it fails its task for ever. The workflow therefore applies no answer that
 * this guard refuses (T10). The table of each activity has its tags and the shapes of their fields, deep enough that no
 * reducer can throw on an accepted answer. Unknown fields are ignored, because a newer worker may add them. Sentences
 * name fields of the table, never values (T5).
 */

type Check = (value: unknown) => boolean
type Name = keyof ThreadActivities
type Answer<N extends Name> = Awaited<ReturnType<ThreadActivities[N]>>

/** A check for every field of `Value`: a new field does not compile without one. */
type Shape<Value> = { readonly [Field in keyof Value]-?: Check }

type Tagged<Union extends { readonly type: string }> = {
  readonly [Tag in Union['type']]: Shape<Omit<Extract<Union, { readonly type: Tag }>, 'type'>>
}

/** The most bytes of an id or name that Temporal accepts. */
const LONGEST_WORD = 1000

const isText: Check = (value) => typeof value === 'string'
/** An id or a name. A longer one of a child, a queue or an activity fails the workflow task that uses it. */
const isWord: Check = (value) =>
  typeof value === 'string' && value.length > 0 && utf8Length(value) <= LONGEST_WORD
const isBoolean: Check = (value) => typeof value === 'boolean'
const isFinite: Check = (value) => Number.isFinite(value)
/** With 0 the workflow would repeat the activity for ever. */
const isCount: Check = (value) => Number.isSafeInteger(value) && Number(value) > 0
const isTrue: Check = (value) => value === true
/** Milliseconds that Temporal accepts as a timeout. */
const isDuration: Check = (value) => typeof value === 'number' && value >= 0 && value <= LIMITS.longestTimer

/** A name that Temporal refuses fails the workflow task that schedules something on that queue. */
const isQueue: Check = (value) => isWord(value) && isTaskQueue(value)

function optional(check: Check): Check {
  return (value) => value === undefined || check(value)
}

function nullable(check: Check): Check {
  return (value) => value === null || check(value)
}

function oneOf(...values: readonly string[]): Check {
  return (value) => typeof value === 'string' && values.includes(value)
}

function listOf(check: Check, least = 0): Check {
  return (value) => Array.isArray(value) && value.length >= least && value.every(check)
}

function recordOf(check: Check): Check {
  return (value) => isObject(value) && Object.values(value).every(check)
}

function objectOf<Value>(shape: Shape<Value>): Check {
  return (value) => isObject(value) && wrongField(shape, value) === undefined
}

/** The first field of the table that does not fit. */
function wrongField(shape: Readonly<Record<string, Check>>, value: Fields): string | undefined {
  return Object.keys(shape).find((field) => shape[field]?.(value[field]) !== true)
}

const isSide = oneOf('a', 'b')
const isRole = oneOf('user', 'assistant')

const isUsage = objectOf<Usage>({
  inputTokens: isFinite,
  outputTokens: isFinite,
  cachedInputTokens: isFinite,
  cost: nullable(isFinite),
})

const TOOL_KINDS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  function: { timeout: isDuration, taskQueue: optional(isQueue) },
  prompt: { prompt: isWord },
  hand_off: { agent: isWord },
  subagent: { agent: isWord },
  subagent_create: {},
  subagent_message: {},
}

const isToolPlan: Check = (value) => fitsTable(TOOL_KINDS, 'kind', value)

const isSidePlan = objectOf<SidePlan>({
  label: nullable(isText),
  prompt: isWord,
  stopOnResponse: isBoolean,
  stopTool: nullable(isText),
  maxSteps: nullable(isFinite),
  sessionStop: nullable(isText),
  sessionFail: nullable(isText),
})

const hasPlanShape = objectOf<Plan>({
  digest: isWord,
  agent: isWord,
  type: oneOf('ai_human', 'dual_ai'),
  maxSessionTurns: nullable(isFinite),
  caps: objectOf<RunCaps>({
    ...{ stepsPerRun: isFinite, sessionTurns: isFinite, repeatedToolErrors: isFinite },
    ...{ toolIterations: optional(isFinite), stepsPerActivity: optional(isFinite) },
  }),
  sides: objectOf<Plan['sides']>({ a: isSidePlan, b: nullable(isSidePlan) }),
  prompts: recordOf(
    objectOf<PromptPlan>({
      model: isWord,
      taskQueue: optional(isQueue),
      continueCutAnswers: optional(isFinite),
      tools: recordOf(isToolPlan),
    }),
  ),
})

/** Each side needs its prompt among the prompts, which name the model, and `dual_ai` needs both sides. */
const isPlan: Check = (value) => {
  if (!hasPlanShape(value)) return false
  const { type, sides, prompts } = value as Plan
  if (type === 'dual_ai' && sides.b === null) return false
  return Object.values(sides).every((side) => side === null || Object.hasOwn(prompts, side.prompt))
}

const isChild = objectOf<PreparedChild>({
  reference: isWord,
  agent: isWord,
  messageId: isWord,
  resumable: isBoolean,
})

/** Operations on another thread. Its workflow checks them again, because anyone can send it a signal. */
const OUTBOUND: { readonly [Kind in OutboundOperation['kind']]: Readonly<Record<string, Check>> } = {
  queue_message: { id: isWord, role: isRole },
  queue_tool: { id: isWord, name: isWord },
  schedule_effect: { id: isWord, dueAt: isFinite },
  remove_effect: { id: isWord },
  remove_queued: { id: isWord },
  set_env: {},
  terminate: {},
}

const OPERATIONS: { readonly [Kind in ThreadOperation['kind']]: Readonly<Record<string, Check>> } = {
  ...OUTBOUND,
  hand_off: { agent: isWord },
  force_turn: { side: isSide },
  stop_run: {},
  defer_child: { requestId: isWord, child: isChild, expiresAt: isFinite },
  child_closed: { reference: isWord, status: isText },
  postpone_messages: { ids: listOf(isWord), runs: isFinite, settles: isFinite, reports: isFinite },
  signal_thread: { to: isWord, operation: (value) => fitsTable(OUTBOUND, 'kind', value) },
}

const areOperations = optional(listOf((value) => fitsTable(OPERATIONS, 'kind', value)))

function fitsTable(
  table: Readonly<Record<string, Readonly<Record<string, Check>>>>,
  tag: 'kind' | 'type',
  value: unknown,
): boolean {
  return isObject(value) && tableProblem(table, tag, value) === undefined
}

function tableProblem(
  table: Readonly<Record<string, Readonly<Record<string, Check>>>>,
  tag: 'kind' | 'type',
  value: Fields,
): string | undefined {
  const name = value[tag]
  const shape = typeof name === 'string' && Object.hasOwn(table, name) ? table[name] : undefined
  return shape === undefined ? tag : wrongField(shape, value)
}

const areCalls = listOf(objectOf({ id: isWord, name: isWord }))
const plan = optional(isPlan)
const usage = optional(isUsage)
const operations = areOperations

/** Reducers read these fields whatever the tag is. */
const READ_OF_ALL = { plan, usage, operations } as const

/** The answers of the pairs are checked one by one, when they are applied: any prefix of them is correct. */
const ahead = optional(
  listOf(objectOf<AheadPair>({ id: isWord, at: isFinite, answer: (value) => isObject(value) })),
)

/** The answers that every activity of a step may give instead of its own result: the workflow treats them alike. */
const IN_STEP = {
  pending: {
    ...{ requestId: isWord, kind: isWord, status: isWord, next: oneOf('complete', 'execute') },
    ...{ answered: optional(isTrue), expiresAt: optional(isFinite), plan, usage, operations },
  },
  wait: {
    until: isFinite,
    plan,
    usage,
    cause: optional(oneOf('limit', 'call')),
    storedNothing: optional(isTrue),
  },
  end: {
    ...{ reason: isWord, outcome: oneOf('completed', 'failed', 'blocked'), usage, plan, operations },
    request: optional(objectOf({ id: isWord, kind: isWord })),
  },
  terminated: {},
} as const

const RESULT = {
  outcome: oneOf('succeeded', 'failed', 'denied', 'interrupted', 'cancelled', 'unknown'),
  errorDigest: optional(isText),
  ...{ operations, usage, text: optional(isTrue), storedNothing: optional(isTrue) },
}

const CALL = { ...IN_STEP, result: RESULT } as const

const SENT = { blocking: isBoolean, timeout: optional(isDuration), operations } as const

const ANSWERS: { readonly [N in Name]: Tagged<Answer<N>> } = {
  callModel: {
    ...IN_STEP,
    answered: {
      plan,
      text: isBoolean,
      truncated: optional(isTrue),
      calls: areCalls,
      usage: isUsage,
      operations,
      ahead,
    },
    end: { ...IN_STEP.end, ahead },
    begun: { plan, operations },
    moved: { plan: isPlan },
    activates: {
      // Empty if no arguments could be derived for any subagent; the prompt is active nevertheless.
      calls: listOf(objectOf({ id: isWord, name: isWord, tool: isToolPlan })),
      ...{ plan, usage, operations },
    },
    refused: { result: objectOf({ type: oneOf('result'), ...RESULT }) },
    nothing_to_do: { plan, operations },
    interrupted: { plan, usage, operations },
  },
  executeTool: {
    ...CALL,
    kind: { tool: isToolPlan },
    remote: { taskQueue: isQueue, activity: isWord, timeout: isDuration },
  },
  prepareChild: { ...CALL, children: { children: listOf(isChild, 1), group: isBoolean, ...SENT } },
  prepareMessage: { ...CALL, message: { reference: isWord, messageId: isWord, role: isRole, ...SENT } },
  completeCall: CALL,
  deliverReport: {
    delivered: {
      kind: oneOf('result', 'failure', 'notice'),
      messageId: nullable(isWord),
      terminated: optional(isTrue),
    },
    parent_gone: {},
  },
  checkChildren: {
    checked: {
      closed: listOf(objectOf({ reference: isWord, status: isText })),
      // Each is looked at as the signal that brings one.
      missed: optional(listOf(isObject)),
      looked: optional(isCount),
    },
  },
  expireChild: { expired: { messageId: nullable(isWord) } },
  runEffect: { ran: { operations }, terminated: {} },
  storeStop: { stored: {} },
  settle: {
    settled: {
      ...{ operations, terminated: optional(isTrue) },
      ended: optional(objectOf({ reason: isWord, steps: isFinite })),
    },
  },
}

/** The parts of an activity's input that its answer has to fit. */
type Asked = Partial<Pick<CallModelInput, 'threadId' | 'knownPlan' | 'frame'>>

/** After these answers the workflow uses the run's plan. */
const NEEDS_PLAN: ReadonlySet<string> = new Set(['answered', 'begun', 'activates'])

/** Explains what is wrong with the answer of an activity; undefined if it is valid. */
export function answerProblem(name: Name, answer: unknown, asked: Asked): string | undefined {
  if (!isObject(answer)) return 'Expected an object with "type".'
  const field =
    tableProblem(ANSWERS[name], 'type', answer) ??
    wrongField(READ_OF_ALL, answer) ??
    missingPlan(name, answer, asked)
  if (field === 'type') return `Expected "type" to be one of ${Object.keys(ANSWERS[name]).join(', ')}.`
  if (field !== undefined) return `Expected "${field}" to fit an answer of type "${String(answer['type'])}".`
  if (utf8Length(JSON.stringify(answer)) <= LIMITS.activityResultBytes) return undefined
  return `Expected at most ${LIMITS.activityResultBytes} bytes.`
}

/** The first answer of a side must contain the plan, which the workflow does not have yet. */
function missingPlan(name: Name, { type, plan: given }: Fields, asked: Asked): 'plan' | undefined {
  if (name !== 'callModel' || (asked.frame ?? null) !== null || (asked.knownPlan ?? null) !== null)
    return undefined
  return NEEDS_PLAN.has(String(type)) && given === undefined ? 'plan' : undefined
}
