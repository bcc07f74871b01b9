/**
 * The tools that a thread may call now, and what would be decided about a call of each.
 * Owns: the entries, and why a tool is unavailable.
 * Does not own: what a worker records (`definitions/inventory.ts`), what a model is offered
 * (`definitions/plan/offered-tools.ts`), and the judgement (`policy/`).
 */
import { factsOfSourceTool } from '../../definitions/inventory.js'
import type { AgentInventory, Flag, SideInventory, ToolFacts } from '../../definitions/inventory.js'
import { enabledSubagents, flagsOf, isOn, listOfferedTools } from '../../definitions/plan/offered-tools.js'
import type { SubagentContent, ToolContent } from '../../definitions/plan/plan-content.js'
import { contentOfSourceTool, offerSourceTools } from '../../definitions/plan/source-tools.js'
import type { OfferedSourceTool, SourceCatalog } from '../../definitions/plan/source-tools.js'
import { traitsOfStart } from '../../policy/action.js'
import { combineApprovalRules } from '../../policy/approval.js'
import { nowMicros } from '../../protocol/time.js'
import { catalogOperationId } from '../../protocol/ids.js'
import { findCatalogs } from '../../store/operations.js'
import { lastRun } from '../../store/threads/runs.js'
import { findGrant } from '../../store/calls/grants.js'
import { isOpen } from '../../store/threads/open-threads.js'
import { findThreadForCall } from '../../store/threads/threads.js'
import { forecast } from '../../policy/forecast.js'
import type { Forecast, Foreseen } from '../../policy/forecast.js'
import { definedRules, looksAtFailures, TOOL_ASKS } from '../../policy/judge.js'
import type { PermissionDecision, StoredPermissions } from '../../policy/judge.js'
import type { Side } from '../../protocol/plan.js'
import type { WorkflowMode } from '../../protocol/payloads/tool-workflow.js'
import { withoutUndefined } from '../../protocol/values.js'
import type { JsonObject } from '../../protocol/values.js'
import { hasFailedCall } from '../../store/calls/tool-calls.js'
import type { SecretBox } from '../../store/secret-box.js'
import type { Reader } from '../../store/store.js'
import { openRun } from '../../store/threads/stops.js'
import type { ThreadRecord } from '../../store/threads/threads.js'
import { findInherited, openVariable } from '../../store/threads/variables.js'
import type { VariableRecord } from '../../store/threads/variables.js'
import { requireThread } from '../client-context.js'
import type { ClientContext } from '../client-context.js'
import { readInventory } from './recorded-inventory.js'

/** What a call of a tool would be: `ask` waits for a person, `unavailable` is not offered to a model at all. */
type ToolPolicy = 'allowed' | 'ask' | 'denied' | 'unavailable'

/** A tool of a thread, and what would be decided about a call of it now. */
export interface ThreadTool {
  /** Unique on its side. */
  readonly toolName: string
  readonly side: Side
  /** The prompt of the side, which lists it. */
  readonly prompt: string
  readonly kind: ToolFacts['kind']
  /** As the model reads it. */
  readonly description: string
  /** The JSON Schema of its arguments, as the model gets it. */
  readonly inputSchema: JsonObject
  /** What runs it: code of a worker, a worker in another language, a workflow, a nested step, another agent in this thread, or a thread of its own. */
  readonly runtimeOwner: 'local' | 'remote' | 'workflow' | 'prompt' | 'agent' | 'subagent'
  /** The task queue of its code, unless it is the thread's own. */
  readonly taskQueue?: string
  /** The activity of a remote tool. */
  readonly activity?: string
  /** The workflow of a tool that is one, by its type: a call waits for it (`execute`), or only starts it (`start`). */
  readonly workflow?: { readonly type: string; readonly mode: WorkflowMode }
  /** The source that has it, such as an MCP server: the last run that asked it has got the tool. */
  readonly source?: string
  readonly capabilities: readonly string[]
  /** It changes nothing outside. False for agents and prompts, whose own calls may change something. */
  readonly isReadOnly: boolean
  /** Calls of it could run beside each other. The calls of a thread run one after another all the same. */
  readonly isConcurrencySafe: boolean
  readonly isDestructive: boolean
  /** A call that a crash interrupted runs again; otherwise its outcome is unknown. */
  readonly isIdempotent: boolean
  /** A stop aborts the call, and its result says so; `abandon`: the workflow of the call goes on. */
  readonly interruptBehavior: 'cancel' | 'abandon'
  /** Milliseconds that a call may take; null: no limit of its own. */
  readonly timeout: number | null
  /** Whether the tool always asks a person, or decides by the arguments. */
  readonly needsApproval: boolean | 'by_arguments'
  readonly policy: ToolPolicy
  /** Why a model is not offered it. */
  readonly unavailable?: string
  /**
   * True: a function of the tool or of the worker, or the agent that is named in the arguments, may change the decision.
   * `policy` says what holds where that of the tool asks a person, and that of the worker demands nothing.
   */
  readonly dependsOnArguments: boolean
  /** What would be decided, and why; also for a tool that is unavailable. */
  readonly decision: PermissionDecision
  /** Of the lifecycle tools: what would be decided by the agent in the arguments. */
  readonly agents?: Readonly<Record<string, ToolPolicy>>
  /** Large or private metadata are nowhere else: always null. */
  readonly metadataRef: null
}

/** The tools of a thread at one moment. */
export interface ThreadTools {
  readonly threadId: string
  readonly agent: string
  /** When a worker recorded them, in microseconds since 1970; null: none has. */
  readonly recordedAt: number | null
  /** Why nothing can be called at all; null: something can. */
  readonly unavailable: string | null
  /** Those of side a, then those of side b, in the order of their prompts. */
  readonly tools: readonly ThreadTool[]
}

/**
 * Reads the tools of a thread from the store: no worker has to run. @throws ThreadNotFoundError, and StoreError `no_key` for a
 * subagent whose variable no key here opens
 */
export async function readThreadTools(context: ClientContext, threadId: string): Promise<ThreadTools> {
  const store = await context.store()
  return store.read(async (db) => {
    const thread = await requireThread(db, threadId)
    const { agent } = thread
    const recorded = await readInventory(db, agent)
    if (recorded === null) {
      const unavailable = `No worker of this store has recorded the agent "${agent}".`
      return { threadId, agent, recordedAt: null, unavailable, tools: [] }
    }
    const unavailable = isOpen(thread) ? null : 'The thread is closed.'
    const run = await openRun(db, threadId)
    const found = await findThreadForCall(db, { threadId, run: run ?? 0 })
    const permissions = found?.permissions ?? { rules: [] }
    const reading = { db, thread, permissions, secrets: store.secrets, run, unavailable }
    const { inventory } = recorded
    const tools = [
      ...(await toolsOfSide(reading, inventory, 'a')),
      ...(await toolsOfSide(reading, inventory, 'b')),
    ]
    return { threadId, agent, recordedAt: recorded.recordedAt, unavailable, tools }
  })
}

interface Reading {
  readonly db: Reader
  readonly thread: ThreadRecord
  readonly permissions: StoredPermissions
  readonly secrets: SecretBox
  /** The run under way: a failure in it may count. */
  readonly run: number | null
  /** Why nothing can be called. */
  readonly unavailable: string | null
}

interface SideReading extends Reading {
  readonly inventory: AgentInventory
  readonly side: SideInventory
  readonly name: Side
  readonly enabled: readonly SubagentContent[]
}

async function toolsOfSide(
  reading: Reading,
  inventory: AgentInventory,
  name: Side,
): Promise<readonly ThreadTool[]> {
  const side = inventory.sides[name]
  if (side === null) return []
  const flags = await readFlags(reading, side)
  const enabled = enabledSubagents(side, (flag) => flags.has(flag))
  const offered = new Map(listOfferedTools(side, enabled).map((tool) => [tool.name, tool]))
  const tools: ThreadTool[] = []
  for (const tool of listOfferedTools(side, Object.values(side.subagents)))
    tools.push(
      await describeTool(
        { ...reading, inventory, side, name, enabled },
        { tool: offered.get(tool.name) ?? tool, isOffered: offered.has(tool.name) },
      ),
    )
  for (const { source, tool } of await readSourceTools(reading, side))
    tools.push(
      await describeTool(
        { ...reading, inventory, side, name, enabled },
        {
          ...{ tool: contentOfSourceTool(tool), isOffered: true },
          ...{ source, facts: factsOfSourceTool(tool) },
        },
      ),
    )
  return tools
}

/** The tools of the side's sources, as the newest run has got them. */
async function readSourceTools(
  { db, thread }: Reading,
  side: SideInventory,
): Promise<readonly OfferedSourceTool[]> {
  const { toolSources = [] } = side
  const run = toolSources.length === 0 ? null : await lastRun(db, thread.id)
  if (run === null) return []
  const ids = toolSources.map((source) => catalogOperationId(run.number, source))
  // Written by `withSourceTools`: the store's boundary.
  const kept = (await findCatalogs(db, { threadId: thread.id, ids })) as readonly SourceCatalog[]
  const catalogs = toolSources.flatMap((name) => kept.find(({ source }) => source === name) ?? [])
  return offerSourceTools(side, catalogs).offered
}

/** The flags of a side that are on, by the values that its thread has or inherits. */
async function readFlags(
  { db, thread, secrets }: Reading,
  side: SideInventory,
): Promise<ReadonlySet<string>> {
  const names = flagsOf(side)
  if (names.length === 0) return new Set()
  const { id: threadId, agent } = thread
  const scopedNames = (above: string) => scopedNamesOf(db, above)
  const values = await findInherited(db, { threadId, agent, names, scopedNames })
  const on = names.filter((name) => isFlagOn(secrets, { flag: side.flags[name], record: values.get(name) }))
  return new Set(on)
}

async function scopedNamesOf(db: Reader, agent: string): Promise<ReadonlySet<string>> {
  const recorded = await readInventory(db, agent)
  return new Set(recorded === null ? [] : recorded.inventory.scoped)
}

interface FlagValue {
  readonly flag: Flag | undefined
  readonly record: VariableRecord | undefined
}

/** A flag that is a secret is off. */
function isFlagOn(secrets: SecretBox, { flag, record }: FlagValue): boolean {
  if (record === undefined) return flag?.isOn === true
  return (flag?.type ?? record.type) === 'text' && isOn(openVariable(secrets, record))
}

interface Described {
  readonly tool: ToolContent
  readonly isOffered: boolean
  /** Of a tool of a source; left out: the worker has recorded them. */
  readonly facts?: ToolFacts
  readonly source?: string
}

async function describeTool(reading: SideReading, described: Described): Promise<ThreadTool> {
  const { name: toolName, description, inputSchema } = described.tool
  const { side, name } = reading
  const facts = described.facts ?? factsOf(side, toolName)
  const { kind, traits, timeout, needsApproval, taskQueue, activity, workflow } = facts
  const { interruptBehavior = 'cancel' } = facts
  const isReadOnly = RUNS_CODE.has(kind) && traits.readOnly === true
  const { policy, ...judged } = await judgeTool(reading, toolName, facts)
  const unavailable = whyUnavailable(reading, described)
  return {
    ...{ toolName, side: name, prompt: side.prompt, kind, description },
    // A JSON Schema is JSON.
    inputSchema: inputSchema as JsonObject,
    runtimeOwner: workflow === undefined ? OWNERS[kind] : 'workflow',
    ...withoutUndefined({ taskQueue, activity, workflow, source: described.source }),
    ...{ isReadOnly, isConcurrencySafe: isReadOnly, isIdempotent: facts.idempotent },
    isDestructive: (traits.destructive ?? false) !== false,
    ...{ interruptBehavior, timeout, needsApproval, metadataRef: null },
    policy: unavailable === null ? policy : 'unavailable',
    ...(unavailable === null ? {} : { unavailable }),
    ...judged,
  }
}

/** Of these kinds the traits say what a call does; others start something that makes calls of its own. */
const RUNS_CODE: ReadonlySet<ToolFacts['kind']> = new Set(['function', 'remote', 'source'])

const OWNERS = {
  function: 'local',
  remote: 'remote',
  // The worker asks the server.
  source: 'local',
  prompt: 'prompt',
  hand_off: 'agent',
  subagent: 'subagent',
  subagent_create: 'subagent',
  subagent_message: 'subagent',
} as const satisfies Record<ToolFacts['kind'], ThreadTool['runtimeOwner']>

function factsOf({ facts }: SideInventory, toolName: string): ToolFacts {
  const known = Object.hasOwn(facts, toolName) ? facts[toolName] : undefined
  if (known === undefined) throw new Error(`Expected facts of the tool "${toolName}", found none.`)
  return known
}

/** The agents that a call may name, for a lifecycle tool: those that are enabled, or all where none is; null for other tools. */
function agentsOf({ side, enabled }: SideReading, { kind }: ToolFacts): readonly SubagentContent[] | null {
  if (kind !== 'subagent_create' && kind !== 'subagent_message') return null
  const named = enabled.filter(({ resumable }) => resumable !== null)
  return named.length > 0
    ? named
    : Object.values(side.subagents).filter(({ resumable }) => resumable !== null)
}

type JudgedTool = Pick<ThreadTool, 'policy' | 'decision' | 'dependsOnArguments' | 'capabilities' | 'agents'>

async function judgeTool(reading: SideReading, toolName: string, facts: ToolFacts): Promise<JudgedTool> {
  const agents = agentsOf(reading, facts)
  if (agents !== null) return judgeByAgent(reading, toolName, agents)
  const { decision, dependsOnArguments } = await foresee(reading, toolName, facts)
  const { capabilities = [] } = facts.traits
  return { policy: policyOf(decision), decision, dependsOnArguments, capabilities }
}

const FROM_PERMISSIVE: readonly ToolPolicy[] = ['allowed', 'ask', 'denied']

/** Judges a lifecycle tool by each agent that a call may name. The most permissive decision stands for the tool. */
async function judgeByAgent(
  reading: SideReading,
  toolName: string,
  agents: readonly SubagentContent[],
): Promise<JudgedTool> {
  const judged: (Forecast & { readonly agent: string; readonly policy: ToolPolicy })[] = []
  for (const { agent, capabilities } of agents) {
    const foreseen = { traits: traitsOfStart(capabilities), needsApproval: false }
    const seen = await foresee(reading, toolName, foreseen)
    judged.push({ ...seen, agent, policy: policyOf(seen.decision) })
  }
  const rank = ({ policy }: { readonly policy: ToolPolicy }): number => FROM_PERMISSIVE.indexOf(policy)
  const [first] = judged.toSorted((one, other) => rank(one) - rank(other))
  if (first === undefined) throw new Error(`Expected an agent for the tool "${toolName}", found none.`)
  const { policy, decision } = first
  return {
    ...{ policy, decision },
    dependsOnArguments: judged.some((one) => one.dependsOnArguments || one.policy !== policy),
    capabilities: [...new Set(agents.flatMap(({ capabilities = [] }) => capabilities))],
    agents: Object.fromEntries(judged.map((one) => [one.agent, one.policy])),
  }
}

function policyOf({ decision }: PermissionDecision): ToolPolicy {
  return decision === 'asked' ? 'ask' : decision
}

/** What would be decided about a call with these traits. */
async function foresee(
  { db, thread, permissions, inventory, run }: SideReading,
  name: string,
  { traits, needsApproval, approval }: Pick<ToolFacts, 'traits' | 'needsApproval' | 'approval'>,
): Promise<Forecast> {
  const { worker } = inventory
  const foreseen: Foreseen = {
    traits,
    rules: definedRules(worker.permissions, inventory.permissions),
    mode: worker.permissionMode,
    opinions: needsApproval === true ? [TOOL_ASKS] : [],
    checks: { tool: needsApproval === 'by_arguments', policy: worker.hasPolicy },
  }
  const called = { thread_id: thread.id, run: run ?? 0, name }
  const hasFailed =
    run !== null && looksAtFailures(foreseen, permissions) && (await hasFailedCall(db, called))
  const seen = forecast(foreseen, permissions, { hasFailed })
  if (seen.decision.decision === 'allowed') return seen
  const { capabilities = [] } = traits
  // A grant for arguments holds for calls that nobody has made yet.
  const call = { toolName: name, capabilities, argumentsDigest: '', now: nowMicros() }
  const rule = combineApprovalRules([worker.approval, approval])
  const grant = await findGrant(db, thread, { ...call, approval: rule })
  return grant === null ? seen : forecast(foreseen, permissions, { hasFailed, grant: grant.id })
}

/** Why a model is not offered the tool; null: it is. */
function whyUnavailable(
  { unavailable, side }: SideReading,
  { tool: { name }, isOffered }: Described,
): string | null {
  if (unavailable !== null) return unavailable
  if (side.refusal !== null) return side.refusal
  if (isOffered) return null
  const called = Object.hasOwn(side.subagents, name)
    ? [side.subagents[name]]
    : Object.values(side.subagents).filter(({ resumable }) => resumable !== null)
  const flags = [...new Set(called.flatMap((subagent) => subagent?.optional ?? []))]
  return flags.map((flag) => `The variable "${flag}" that enables it is not on.`).join(' ')
}
