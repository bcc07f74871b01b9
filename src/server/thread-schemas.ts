/** The OpenAPI schemas of what a thread does, asks, has decided and may call. */
import { z } from '@hono/zod-openapi'
import type { ThreadTree } from '../client/lists/thread-tree.js'
import { budgetState } from './budget-schemas.js'
import { microseconds, fields } from './schemas.js'

const next = z
  .string()
  .nullable()
  .openapi({ description: '`cursor` of the next page; null on the last one.' })

export const status = z.string().openapi({
  description:
    'idle, running, waiting_permission, waiting_input, waiting_resource, blocked, stopped, completed, failed, terminated, ' +
    'lost; later versions add some.',
  example: 'idle',
})

const forkedFrom = z
  .object({
    threadId: z.string().openapi({ description: 'It may have been deleted since.' }),
    messageId: z.string().nullable().openapi({ description: 'The last message that the fork has of it.' }),
  })
  .nullable()
  .openapi({ description: 'Where a fork has its transcript from; null for a thread that is no fork.' })

export const threadSummary = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    status,
    userId: z.string().nullable(),
    account: z.string().nullable(),
    parent: z.string().nullable().openapi({ description: 'Null for a root thread.' }),
    root: z.string(),
    forkedFrom,
    title: z.string().nullable(),
    opening: z
      .string()
      .nullable()
      .openapi({ description: 'The first 200 characters of its first message; null until it is delivered.' }),
    tags: z.array(z.string()).readonly(),
    createdAt: microseconds,
    lastActivityAt: microseconds,
    closedAt: microseconds.nullable(),
    lastSequence: z
      .int()
      .openapi({ description: 'Of its newest event: `after` of events goes on from here.' }),
  })
  .openapi('Thread')

export const threadCounts = z
  .object({
    counts: z.record(z.string(), z.int()).openapi({ description: 'By status.' }),
    more: z.boolean().openapi({
      description: 'True: there are more than the 10,000 with the newest activity, which are counted.',
    }),
  })
  .openapi('ThreadCounts')

export const threadsPage = z
  .object({ threads: z.array(threadSummary).readonly(), next })
  .openapi('ThreadsPage')

const names = z.array(z.string()).readonly()

const asked = { id: z.string(), requestedAt: microseconds }

const capabilities = z
  .array(z.string())
  .readonly()
  .openapi({ description: 'The authority that the call needs.' })

/** Why something was decided about a call, for people and for the record. */
const decided = {
  source: z.string().openapi({ description: 'What decided; later versions add members.' }),
  reason: z.string().optional(),
  hook: z.string().optional().openapi({ description: 'The id of the hook, where a hook decided.' }),
  rules: z.array(z.string()).readonly().optional().openapi({ description: 'Each as `source:rule`.' }),
  sources: names
    .optional()
    .openapi({ description: 'What demanded it, where that is more than `source` or something else.' }),
  mode: z.string().optional().openapi({ description: 'The mode of the thread, unless it is `default`.' }),
  interactive: z.literal(false).optional().openapi({ description: 'Nobody could be asked.' }),
  capabilities: capabilities.optional(),
  destructive: z
    .union([z.literal(true), z.object({ impact: z.string(), undo: z.string().optional() })])
    .optional()
    .openapi({ description: 'What the call destroys, if its definition says that it does.' }),
}

const previewPart = z.union([
  z.object({ type: z.literal('text'), text: z.string(), title: z.string().optional() }),
  z.object({ type: z.literal('json'), value: z.any(), title: z.string().optional() }),
  z.object({ type: z.literal('diff'), before: z.string(), after: z.string(), title: z.string().optional() }),
  z.object({ type: z.literal('file'), path: z.string(), title: z.string().optional() }),
])

const recordedAction = z
  .object({
    id: z.string(),
    kind: z.enum(['tool', 'prompt', 'hand_off', 'subagent', 'subagent_message']),
    name: z.string(),
    arguments: z.any().openapi({
      description: 'As they were checked. Secret fields are `[redacted]`. Null: they are no JSON.',
    }),
    capabilities,
    readOnly: z.boolean(),
    destructive: z.union([z.boolean(), z.object({ impact: z.string(), undo: z.string().optional() })]),
    runtimeOwner: z.enum(['local', 'remote', 'prompt', 'agent', 'subagent']),
    artifacts: z
      .array(
        z.object({
          kind: z.enum(['preview', 'result']),
          name: z.string(),
          uri: z.string().optional().openapi({ description: 'The path of a file of the thread.' }),
          mediaType: z.string().optional(),
          actionId: z.string(),
          parts: z.array(previewPart).readonly().optional(),
          metadata: fields.optional(),
        }),
      )
      .readonly()
      .openapi({ description: 'The preview that a person was shown, and the files of the result.' }),
  })
  .openapi('RecordedAction')

const permissionState = z.object({
  mode: z.string(),
  rules: names,
  sources: names,
  interactive: z.boolean().openapi({ description: 'False: nobody could be asked.' }),
})

const sandboxProfile = z.object({
  state: z.enum(['unavailable', 'not_applicable']),
  reason: z.enum(['worker_process', 'remote_worker', 'no_code', 'not_begun']),
})

/** What was decided about a call. */
export const recordedDecision = z
  .object({
    toolCallId: z.string(),
    toolName: z.string(),
    runId: z.string(),
    stepId: z.string(),
    messageId: z
      .string()
      .nullable()
      .openapi({ description: 'The message that proposed the call; null: the code of a tool made it.' }),
    parentCallId: z
      .string()
      .nullable()
      .openapi({ description: 'The call of a prompt or tool that made it; null: the model of a side did.' }),
    startedAt: microseconds.nullable().openapi({ description: 'Null: the call did not begin.' }),
    outcome: z
      .enum(['succeeded', 'failed', 'denied', 'interrupted', 'cancelled', 'unknown'])
      .nullable()
      .openapi({ description: 'Null: the call has not ended.' }),
    errorCode: z.string().nullable(),
    resultMessageId: z.string().nullable(),
    finishedAt: microseconds.nullable(),
    decision: z.enum(['allowed', 'denied', 'asked']),
    ...decided,
    action: recordedAction,
    permission: permissionState,
    sandbox: sandboxProfile,
    requestId: z.string().optional().openapi({ description: 'The request that asked a person.' }),
    grantId: z.string().optional().openapi({ description: 'The remembered approval that allowed it.' }),
    by: z.string().optional().openapi({ description: 'The person that answered.' }),
    changed: z.literal(true).optional().openapi({ description: 'The person gave other arguments.' }),
    changedBy: names.optional().openapi({ description: 'The hooks that gave other arguments.' }),
    answered: z
      .literal(true)
      .optional()
      .openapi({ description: 'The person gave a result in the place of the call.' }),
  })
  .openapi('RecordedDecision')

const approvers = z
  .object({
    roles: z.array(names).readonly().optional().openapi({ description: 'A role of each list.' }),
    fourEyes: z.literal(true).optional(),
  })
  .openapi({ description: 'Who may answer.' })

const approval = z.object({
  ...asked,
  kind: z.literal('approval'),
  toolCallId: z.string(),
  action: z.enum(['tool', 'prompt', 'hand_off', 'subagent', 'subagent_message']),
  toolName: z.string(),
  description: z.string().optional(),
  args: z.any().optional().openapi({ description: 'Secret fields are `[redacted]`.' }),
  schema: z.any().optional().openapi({ description: 'The JSON schema of the arguments, for a form.' }),
  preview: z
    .array(previewPart)
    .readonly()
    .optional()
    .openapi({ description: 'What the tool shows of the call.' }),
  decision: z.object(decided).optional().openapi({ description: 'Why a person is asked.' }),
  answers: z
    .array(z.enum(['approve', 'deny', 'arguments', 'result', 'remember']))
    .readonly()
    .openapi({ description: 'What an answer may do.' }),
  approvers: approvers.optional(),
  expiresAt: microseconds.optional().openapi({ description: 'When it is denied if nobody has answered.' }),
})

const toolPolicy = z.enum(['allowed', 'ask', 'denied', 'unavailable'])

const threadTool = z
  .object({
    toolName: z.string(),
    side: z.enum(['a', 'b']),
    prompt: z.string(),
    kind: z.string().openapi({ description: 'function, remote, prompt, …; later versions add members.' }),
    description: z.string(),
    inputSchema: fields.openapi({ description: 'The JSON Schema of its arguments, as the model gets it.' }),
    runtimeOwner: z.enum(['local', 'remote', 'workflow', 'prompt', 'agent', 'subagent']),
    taskQueue: z.string().optional(),
    activity: z.string().optional(),
    workflow: z
      .object({ type: z.string(), mode: z.enum(['execute', 'start']) })
      .optional()
      .openapi({ description: 'Of a tool that is a workflow.' }),
    source: z.string().optional().openapi({ description: 'Of a tool of an MCP server: its name.' }),
    capabilities,
    isReadOnly: z.boolean(),
    isConcurrencySafe: z.boolean(),
    isDestructive: z.boolean(),
    isIdempotent: z.boolean(),
    interruptBehavior: z.enum(['cancel', 'abandon']),
    timeout: z.int().nullable().openapi({ description: 'Milliseconds; null: no limit of its own.' }),
    needsApproval: z.union([z.boolean(), z.literal('by_arguments')]),
    policy: toolPolicy,
    unavailable: z.string().optional().openapi({ description: 'Why a model is not offered it.' }),
    dependsOnArguments: z
      .boolean()
      .openapi({ description: 'Code that judges arguments may decide otherwise.' }),
    decision: z.object({ decision: z.enum(['allowed', 'denied', 'asked']), ...decided }),
    agents: z
      .record(z.string(), toolPolicy)
      .optional()
      .openapi({ description: 'By the agent in the arguments.' }),
    metadataRef: z.null(),
  })
  .openapi('ThreadTool')

export const threadTools = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    recordedAt: microseconds.nullable().openapi({ description: 'Null: no worker has recorded the agent.' }),
    unavailable: z.string().nullable().openapi({ description: 'Why nothing can be called at all.' }),
    tools: z.array(threadTool).readonly(),
  })
  .openapi('ThreadTools')

const call = z.object({
  ...asked,
  kind: z.literal('call'),
  toolName: z.string(),
  args: z.any().optional().openapi({ description: 'As the model wrote them.' }),
  form: z.any().optional().openapi({ description: 'The JSON schema of the `result` of the answer.' }),
  connect: z.object({ server: z.string(), url: z.string(), state: z.string() }).optional().openapi({
    description:
      'The login that the call waits for: the user of the thread opens the `url`, and the `result` has the `code` and `state` (or `error`) that it gives back.',
  }),
})

/** An approval that a person wanted remembered. */
export const grant = z
  .object({
    id: z.string(),
    for: z.enum(['thread', 'tree', 'user']),
    threadId: z.string().nullable(),
    account: z.string().nullable(),
    userId: z.string().nullable(),
    toolName: z.string(),
    capabilities: names.nullable().openapi({
      description: 'It holds for calls that need no others; null: for the same arguments of the tool.',
    }),
    givenIn: z.object({ threadId: z.string(), requestId: z.string() }),
    by: z.string().nullable(),
    createdAt: microseconds,
    expiresAt: microseconds.nullable(),
  })
  .openapi('Grant')

export const permissionSummary = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    recordedAt: microseconds.nullable().openapi({
      description: 'When a worker recorded its rules and those of the agent; null: they are unknown.',
    }),
    modes: z.object({ worker: z.string().optional(), thread: z.string().optional() }),
    interactive: z.boolean().openapi({ description: 'False: nobody can be asked.' }),
    rules: z
      .array(z.object({ source: z.string(), effects: z.record(z.string(), z.string()).readonly() }))
      .readonly()
      .openapi({
        description:
          'Allow, require_approval or deny by rule; of all that apply to a call the strictest counts.',
      }),
    hasPolicy: z.boolean().nullable().openapi({
      description: 'Whether a policy function of the worker decides as well; null: unknown.',
    }),
    grants: z.array(grant).readonly(),
    pending: z.array(approval).readonly().openapi({ description: 'The calls that wait for a person.' }),
    sandbox: z.literal('unavailable').openapi({ description: 'Tools run in the worker: there is none.' }),
  })
  .openapi('PermissionSummary')

const variables = z.object({
  ...asked,
  kind: z.literal('variables'),
  agent: z.string(),
  required: names,
  missing: names,
  child: z.string().optional().openapi({ description: 'The subagent that starts with the answer.' }),
})

const { scope, period, limits } = budgetState.shape

const budget = z.object({
  ...asked,
  kind: z.literal('budget'),
  ...{ scope, period, limit: limits.keyof(), most: z.number(), used: z.number() },
  approvers: approvers.optional(),
})

/** A request that waits for an answer. */
export const pendingRequest = z.union([approval, budget, call, variables]).openapi('PendingRequest')

const threadId = { threadId: z.string() }

const threadRequest = z
  .union([
    approval.extend(threadId),
    budget.extend(threadId),
    call.extend(threadId),
    variables.extend(threadId),
  ])
  .openapi('ThreadRequest')

export const requestsPage = z
  .object({ requests: z.array(threadRequest).readonly(), next })
  .openapi('RequestsPage')

const reason = z.string().openapi({ description: 'Why a run ended; later versions add members.' })

export const run = z.object({
  runId: z.string(),
  side: z.enum(['a', 'b']),
  steps: z.int(),
  sessionTurns: z.int(),
  doing: z.string().nullable(),
  taskQueue: z.string().optional().openapi({
    description: "The task queue of this work, if not the thread's own: it waits for a worker there.",
  }),
  since: microseconds,
})

export const queued = z.object({
  id: z.string(),
  kind: z.enum(['message', 'tool', 'effect', 'report', 'variables', 'continue']),
  queuedAt: microseconds,
  preview: z.string().optional(),
})

const effect = z.object({
  id: z.string(),
  name: z.string(),
  scheduledAt: microseconds,
  createdAt: microseconds,
})

/** A child, as its parent lists it. */
export const entry = z
  .object({
    reference: z.string().openapi({ description: 'Its thread id.' }),
    name: z.string(),
    title: z.string().optional(),
    description: z.string(),
    resumable: z.boolean(),
    blocking: z.boolean(),
    threadName: z.string().optional(),
    spawnGroupId: z.string().optional(),
    createdAt: microseconds,
    status: z.string(),
    parentCommunication: z.enum(['implicit', 'explicit']),
  })
  .openapi('Subagent')

export const snapshot = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    parent: z.string().nullable(),
    parentRun: z.string().nullable().openapi({ description: 'The run of the parent that started it.' }),
    forkedFrom,
    agentChain: names.openapi({ description: 'The agents that the work has come through, its own last.' }),
    root: z.string(),
    status,
    statusText: z
      .string()
      .nullable()
      .openapi({ description: 'The status text that the thread last set; null if it has set none.' }),
    stale: z
      .boolean()
      .openapi({ description: 'True: read from the store, because no worker answered or it is closed.' }),
    at: microseconds,
    run: run.nullable(),
    queue: z.array(queued).readonly(),
    pending: z.array(pendingRequest).readonly(),
    effects: z.array(effect).readonly(),
    children: z.array(entry).readonly().openapi({ description: 'The first 50.' }),
    childCount: z.int(),
    lastRun: z.object({ runId: z.string(), reason, steps: z.int(), endedAt: microseconds }).nullable(),
    lastSequence: z.int(),
    createdAt: microseconds,
    terminated: microseconds.nullable(),
  })
  .openapi('Snapshot')

/** What belongs to a run and not to its work. */
export const runContext = z
  .object({
    runId: z.string().openapi({ description: 'Unique over all threads.' }),
    sessionId: z.string(),
    traceId: z.string().nullable(),
    workspaceUri: z.string().nullable(),
    parentRunId: z.string().nullable().openapi({ description: 'Null for a root thread.' }),
    agentChain: names.openapi({ description: 'The agents that the work has come through, its own last.' }),
    permissions: fields.openapi({
      description: 'The rules of the thread and of the messages that it has taken.',
    }),
    budget: fields.nullable().openapi({ description: 'What thread and tree were created with.' }),
    canceled: z.boolean(),
    metadata: fields.nullable().openapi({ description: 'Of the session.' }),
  })
  .openapi('RunContext')

/** A thread and all below it. */
export const tree: z.ZodType<ThreadTree> = z
  .object({
    threadId: z.string(),
    agent: z.string(),
    status,
    closedAt: microseconds.nullable(),
    entry: z.union([entry, z.null()]),
    get children() {
      return z.array(tree).readonly()
    },
  })
  .openapi('Tree') as z.ZodType<ThreadTree>
