import { setTimeout as delay } from 'node:timers/promises'

/** A server that is asked again after this long and has counted nothing more has counted all. */
const SETTLED = 2_000
const DEADLINE = 60_000

/** What the server counted in a namespace: actions by type, as its counter `action` has them. */
export type Actions = ReadonlyMap<string, number>

/** The columns of the table, by the types that are in them; what is in none of them is told by its type. */
export const KINDS = {
  activities: ['command_ScheduleActivityTask', 'activity_retry'],
  heartbeats: ['grpc_RecordActivityTaskHeartbeat', 'grpc_RecordActivityTaskHeartbeatById'],
  starts: [
    'grpc_StartWorkflowExecution',
    'grpc_ExecuteMultiOperation',
    'command_ContinueAsNewWorkflowExecution',
    'command_StartChildWorkflowExecution',
    'command_StartChildWorkflowExecution_Extra',
  ],
  signals: [
    'grpc_SignalWorkflowExecution',
    'grpc_SignalWithStartWorkflowExecution',
    'command_SignalExternalWorkflowExecution',
  ],
  // With a colon in the server's code: Prometheus's labels have an underscore for it.
  updates: ['message_UpdateWorkflowExecution_Acceptance', 'message_UpdateWorkflowExecution_Rejection'],
  queries: ['grpc_QueryWorkflow'],
  upserts: ['command_UpsertWorkflowSearchAttributes'],
  timers: ['command_StartTimer'],
} as const satisfies Readonly<Record<string, readonly string[]>>
export type Kind = keyof typeof KINDS

export function countOf(actions: Actions, kind: Kind): number {
  return sum(KINDS[kind].map((type) => actions.get(type) ?? 0))
}

export function totalOf(actions: Actions): number {
  return sum([...actions.values()])
}

/** Types that were counted and that no column has. */
export function otherTypes(actions: Actions): readonly string[] {
  const known: readonly string[] = Object.values(KINDS).flat()
  return [...actions].filter(([type, count]) => count > 0 && !known.includes(type)).map(([type]) => type)
}

/** What the server counted in a namespace until it had no more to count there. */
export async function settledActions(metrics: string, namespace: string): Promise<Actions> {
  const until = Date.now() + DEADLINE
  let actions = await readActions(metrics, namespace)
  for (;;) {
    await delay(SETTLED)
    const later = await readActions(metrics, namespace)
    if (totalOf(later) === totalOf(actions)) return later
    if (Date.now() > until) throw new Error(`Expected the actions in ${namespace} to end.`)
    actions = later
  }
}

export function actionsSince(before: Actions, after: Actions): Actions {
  return new Map([...after].map(([type, count]) => [type, count - (before.get(type) ?? 0)]))
}

async function readActions(metrics: string, namespace: string): Promise<Actions> {
  const response = await fetch(metrics)
  if (!response.ok)
    throw new Error(`Expected the counters of the server at ${metrics}, got ${response.status}.`)
  return parseActions(await response.text(), namespace)
}

const LINE = /^action\{(?<labels>[^}]*)\} (?<value>\S+)$/gm

/** The counter `action` of one namespace, in Prometheus's text format. */
export function parseActions(text: string, namespace: string): Actions {
  const actions = new Map<string, number>()
  for (const { groups } of text.matchAll(LINE)) {
    const { labels = '', value = '' } = groups ?? {}
    if (labelOf(labels, 'namespace') !== namespace) continue
    const type = labelOf(labels, 'action_type') ?? 'unknown'
    actions.set(type, (actions.get(type) ?? 0) + Number(value))
  }
  return actions
}

function labelOf(labels: string, name: string): string | undefined {
  return new RegExp(`(?:^|,)${name}="([^"]*)"`).exec(labels)?.[1]
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
