/**
 * What this runtime has of the capabilities that other runtimes name, and what it has not, each by its name.
 *
 * Owns: the table of what is unavailable, with the reasons, and of families of capabilities by layer. `scripts/conformance.ts` takes its
 * unavailable ids from here. Does not own: what a thread may do now (`thread.tools()`, `thread.permissions()`).
 */

/** Why a read has no value. Nobody takes one of these for success. */
export type MissingValue =
  /** The runtime has not enough facts to say. */
  | 'unknown'
  /** This runtime has no such thing. */
  | 'unavailable'
  /** The thread has no such thing. */
  | 'not_applicable'
  /** It was true, and may have changed. */
  | 'stale'
  /** A permission, a credential, a limit or an answer is needed first. */
  | 'blocked'

/** The place of a value that this runtime cannot have. */
export interface Unavailable {
  readonly unavailable: string
}

/** A capability that cannot exist here. */
export interface UnavailableCapability {
  /** The id of its requirement, as docs/generated/conformance.md lists it. */
  readonly id: string
  readonly name: string
  readonly reason: string
}

/** A family of capabilities. `core` is what each runtime of the kind has, `extension` is optional, `profile` is stricter. */
export interface CapabilityFamily {
  readonly layer: 'core' | 'extension' | 'profile'
  readonly name: string
  /** `partial`: some of it is among the unavailable ones. */
  readonly status: 'available' | 'partial' | 'unavailable'
  /** Where it is read or done; for what is unavailable, why. */
  readonly detail: string
}

const NO_PROCESSES = 'the runtime starts no processes'
const NO_SANDBOX = 'there is no sandbox'
const NO_ENVIRONMENT = "there is no execution environment of the runtime's own"
const NO_CHANNELS = 'there are no remote channels'
const NO_BENCHMARKS = 'the runtime runs no benchmark trials'

export const UNAVAILABLE: readonly UnavailableCapability[] = [
  ['AR-S1.3', 'reference_profile', 'the text of that profile is not in the specification'],
  ['AR-S3.2', 'command_facts', NO_PROCESSES],
  ['AR-S3.9', 'remote_channels', `${NO_CHANNELS}; streams resume by cursor`],
  ['AR-EF.2', 'sandbox_events', NO_SANDBOX],
  ['AR-EF.4', 'process_events', NO_PROCESSES],
  ['AR-EF.8', 'channel_events', NO_CHANNELS],
  ['AR-EF.12', 'benchmark_events', NO_BENCHMARKS],
  ['AR-CP.16', 'get_execution_environment', NO_ENVIRONMENT],
  ['AR-CP.17', 'process_commands', NO_PROCESSES],
  ['AR-CP.21', 'benchmark_commands', NO_BENCHMARKS],
  ['AR-CC.11', 'process_targets', NO_PROCESSES],
  ['AR-CC.12', 'process_recovery', NO_PROCESSES],
  ['AR-CC.15', 'benchmark_command_exports', 'there are no benchmark commands'],
  ['AR-SN.10', 'execution_environment_snapshot', NO_ENVIRONMENT],
  ['AR-SN.13', 'benchmark_summary', NO_BENCHMARKS],
  ['AR-SN.14', 'channel_summary', NO_CHANNELS],
  ['AR-TC.9', 'concurrent_tool_calls', 'calls of one answer run one after another, as SA-R-05.1 demands'],
  ['AR-ER.5', 'benchmark_export', NO_BENCHMARKS],
  ['AR-ER.6', 'benchmark_verdict', 'the row informs and demands nothing; there is no benchmark export'],
  ['AR-PS.6', 'sandbox_profile', NO_SANDBOX],
  ['AR-PS.7', 'sandboxed_state', 'there is no sandbox, and nothing is shown as sandboxed'],
  ['AR-EE.1', 'execution_environment', NO_ENVIRONMENT],
  ['AR-EE.2', 'execution_environment_of_a_turn', NO_ENVIRONMENT],
  ['AR-EE.3', 'process_lifecycle', NO_PROCESSES],
  ['AR-EE.5', 'command_review', 'the runtime runs no commands'],
  ['AR-EE.6', 'process_diagnostics', NO_PROCESSES],
  ['KP-02.3', 'channel_connections', 'there are no projects with connections of channels'],
  ['KP-03.3', 'code_tools', 'there is no sandbox for code'],
  ['KP-03.4', 'connector_tools', 'there are no built-in connectors'],
  ['KP-03.6', 'knowledge_base_tools', 'there is no built-in knowledge base'],
  ['KP-12.2', 'websocket', 'there is no WebSocket door; streams are server-sent events'],
].map(([id = '', name = '', reason = '']) => ({ id, name, reason }))

const NO_TASKS = 'there are no tasks beside the messages of a thread, and no jobs'

/** The families of each layer, of the Agent Runtime draft, in its order. */
export const FAMILIES: readonly CapabilityFamily[] = [
  core(
    'identities',
    'available',
    'ids of runtime, session, thread, turn, run, step, call, request and subagent, in each event',
  ),
  core('event_envelope', 'available', 'events(), and views of them'),
  core(
    'control_plane',
    'partial',
    'ThreadClient, ThreadHandle and the HTTP API; no tasks, processes or trials',
  ),
  core(
    'snapshots',
    'partial',
    'snapshot(), and a read for each part; no tasks, environment, channels or trials',
  ),
  core(
    'ownership',
    'available',
    'what is recorded is written by the runtime only; clients read, and send commands',
  ),
  extension('permission', 'available', 'permissions(), decisions() and permission events'),
  extension('sandbox', 'unavailable', NO_SANDBOX),
  extension('hooks', 'available', 'hook events, and policy.changed'),
  extension('process', 'unavailable', NO_PROCESSES),
  extension('routing', 'available', 'routing(), and routing events'),
  extension('task_graph', 'unavailable', NO_TASKS),
  extension('subagent', 'available', 'children(), tree() and subagent events'),
  extension('job', 'unavailable', NO_TASKS),
  extension('channel', 'unavailable', NO_CHANNELS),
  extension('history', 'available', 'messages(), events() and boundaries()'),
  extension(
    'evidence',
    'unavailable',
    'the runtime keeps no evidence of its own; it gives the facts of which one is made',
  ),
  {
    layer: 'profile',
    name: 'everthread',
    status: 'available',
    detail:
      'the core with runtimeId, sessionId and sequence in each event that is stored, and ids of what a type is about',
  },
]

function core(name: string, status: CapabilityFamily['status'], detail: string): CapabilityFamily {
  return { layer: 'core', name, status, detail }
}

function extension(name: string, status: CapabilityFamily['status'], detail: string): CapabilityFamily {
  return { layer: 'extension', name, status, detail }
}

/** What the runtime has, and what it has not. */
export interface Capabilities {
  readonly families: readonly CapabilityFamily[]
  readonly unavailable: readonly UnavailableCapability[]
}
