// Made by `npm run openapi` of docs/generated/openapi.json.

export type AgentRuntimeEvent = {
    type: string;
    eventId: string;
    timestamp: string;
    schemaVersion: '0.1.0';
    sequence?: number;
    runtimeId: string;
    sessionId: string;
    threadId: string;
    turnId?: string;
    taskId?: string;
    runId?: string;
    attemptId?: string;
    stepId?: string;
    toolCallId?: string;
    actionId?: string;
    subagentId?: string;
    traceId?: string;
    spanId?: string;
    payload: {
        [key: string]: unknown;
    };
    refs?: {
        [key: string]: unknown;
    };
};

export type KoreEvent = {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'llm_call';
    model: string;
    latency: number | null;
    cost: number | null;
    tokens: {
        input: number;
        output: number;
        cachedInput: number;
    } | null;
    attempt: number;
    error: string | null;
} | {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'tool_call';
    toolName: string;
    toolCallId: string;
    input: string | null;
} | {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'tool_result';
    toolName: string;
    toolCallId: string;
    outcome: string;
    result: string | null;
    error: string | null;
    latency: number | null;
} | {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'decision';
    kind: 'routing' | 'flow';
    outcome: string;
    reason: string | null;
} | {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'handoff';
    from: string;
    to: string;
} | {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'state_change';
    change: string;
    variables: Array<string>;
} | {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'guardrail_eval';
    guardrail: string;
    decision: string;
    toolCallId: string | null;
    source: string | null;
} | {
    eventId: string;
    timestamp: string;
    sequence: number;
    sessionId: string;
    threadId: string;
    agent: string;
    runId?: string;
    stepId?: string;
    traceId?: string;
    spanId?: string;
    type: 'error';
    source: string;
    code: string;
    errorId: string | null;
};

export type RunEvent = {
    version: 1;
    type: string;
    run_id: string | null;
    task_id: string | null;
    agent_name: string;
    sequence: number;
    step?: number;
    span_id?: string;
    parent_span_id?: string;
    action_id?: string;
    parent_action_id?: string;
    delegation_id?: string;
    severity: 'info' | 'warning' | 'error';
    summary: string;
    payload: {
        [key: string]: unknown;
    };
    final: boolean;
};

export type TaskEvent = {
    task_id: string | null;
    timestamp: string;
    context?: {
        run_id: string | null;
        session_id: string;
        agent_name: string;
        trace_id: string | null;
    };
    metadata: {
        [key: string]: unknown;
    };
    kind: 'status-update';
    state: 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';
    final: boolean;
    task?: {
        id: string;
        state: 'submitted' | 'working' | 'input-required' | 'completed' | 'failed' | 'canceled';
        metadata: {
            run_context: {
                run_id: string | null;
                session_id: string;
                agent_name: string;
                trace_id: string | null;
            };
            cancel_reason?: string;
        };
    };
} | {
    task_id: string | null;
    timestamp: string;
    context?: {
        run_id: string | null;
        session_id: string;
        agent_name: string;
        trace_id: string | null;
    };
    metadata: {
        [key: string]: unknown;
    };
    kind: 'artifact-update';
    artifact: {
        name: string;
        uri: string;
        media_type: string | null;
    };
} | {
    task_id: string | null;
    timestamp: string;
    context?: {
        run_id: string | null;
        session_id: string;
        agent_name: string;
        trace_id: string | null;
    };
    metadata: {
        [key: string]: unknown;
    };
    kind: 'llm-stream';
    type: string;
};

export type OpenTelemetryRecord = {
    signal: 'span';
    name: string;
    kind: 'INTERNAL' | 'CLIENT';
    attributes: {
        [key: string]: string | number | boolean | Array<string>;
    };
    startTimeUnixNano: string;
    endTimeUnixNano: string;
    status: 'UNSET' | 'ERROR';
    traceId?: string;
    spanId?: string;
} | {
    signal: 'log';
    eventName: string;
    timeUnixNano: string;
    attributes: {
        [key: string]: string | number | boolean | Array<string>;
    };
    severityNumber: 9 | 13 | 17;
    severityText: 'INFO' | 'WARN' | 'ERROR';
    traceId?: string;
    spanId?: string;
};

export type Health = {
    status: 'ok';
};

export type Problem = {
    error: {
        /**
         * For programs: later versions add codes.
         */
        code: string;
        /**
         * For people: what was expected and what came.
         */
        message: string;
        /**
         * As in the header X-Request-Id, and in the log of the server.
         */
        requestId: string;
    };
};

export type Readiness = {
    ready: boolean;
    store: boolean;
    temporal: boolean;
};

export type ToolCallClaim = {
    /**
     * For the other routes of this call. Do not store it.
     */
    token: string;
    /**
     * When the token expires; microseconds since 1970.
     */
    expiresAt: number;
    /**
     * When the tool times out; microseconds since 1970.
     */
    deadline: number;
    tool: string;
    /**
     * From 1: how often the call was claimed.
     */
    attempt: number;
    /**
     * The same in every attempt.
     */
    idempotencyKey: string;
    /**
     * Checked against the schema of the tool.
     */
    arguments: {
        [key: string]: unknown;
    };
    /**
     * Those that the tool declares.
     */
    variables: {
        [key: string]: string;
    };
    /**
     * W3C trace context of the call: the parent of the worker's spans; null without tracing.
     */
    traceparent: string | null;
    /**
     * The step of the call, as events have it.
     */
    stepId: string | null;
    runContext: RunContext;
};

export type RunContext = {
    /**
     * Unique over all threads.
     */
    runId: string;
    sessionId: string;
    traceId: string | null;
    workspaceUri: string | null;
    /**
     * Null for a root thread.
     */
    parentRunId: string | null;
    /**
     * The agents that the work has come through, its own last.
     */
    agentChain: Array<string>;
    /**
     * The rules of the thread and of the messages that it has taken.
     */
    permissions: {
        [key: string]: unknown;
    };
    /**
     * What thread and tree were created with.
     */
    budget: {
        [key: string]: unknown;
    } | null;
    canceled: boolean;
    /**
     * Of the session.
     */
    metadata: {
        [key: string]: unknown;
    } | null;
} | null;

export type ToolCallClaimRequest = {
    /**
     * Made anew for each attempt of the activity; the same one again is the same claim.
     */
    claimId: string;
};

export type ToolCallFile = {
    path: string;
    mimeType: string;
    size: number;
};

export type ToolCallAccepted = {
    status: 'accepted';
};

export type ToolCallResult = {
    status: 'success' | 'error';
    /**
     * Any JSON; what the model reads.
     */
    result?: {
        [key: string]: unknown;
    };
    content?: Array<{
        type: 'text';
        text: string;
    } | {
        type: 'file';
        file: {
            path: string;
            description?: string;
        };
    }>;
    /**
     * What the model reads of an error.
     */
    error?: string;
    error_code?: string;
    attachments?: Array<{
        path: string;
        description?: string;
    }>;
};

export type Agents = {
    agents: Array<Agent>;
};

export type Agent = {
    name: string;
    type: string;
    title: string | null;
    description: string | null;
    icon: string | null;
    exposeAsTool: boolean;
};

export type Thread = {
    threadId: string;
    agent: string;
    /**
     * idle, running, waiting_permission, waiting_input, waiting_resource, blocked, stopped, completed, failed, terminated, lost; later versions add some.
     */
    status: string;
    userId: string | null;
    account: string | null;
    /**
     * Null for a root thread.
     */
    parent: string | null;
    root: string;
    /**
     * Where a fork has its transcript from; null for a thread that is no fork.
     */
    forkedFrom: {
        /**
         * It may have been deleted since.
         */
        threadId: string;
        /**
         * The last message that the fork has of it.
         */
        messageId: string | null;
    } | null;
    title: string | null;
    /**
     * The first 200 characters of its first message; null until it is delivered.
     */
    opening: string | null;
    tags: Array<string>;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
    /**
     * Microseconds since 1970.
     */
    lastActivityAt: number;
    /**
     * Microseconds since 1970.
     */
    closedAt: number | null;
    /**
     * Of its newest event: `after` of events goes on from here.
     */
    lastSequence: number;
};

export type NewThread = {
    agent: string;
    /**
     * Idempotency key: a request that is repeated with the same key is carried out once.
     */
    key?: string;
    /**
     * For operators: the id of the thread. An account gives a `key` instead.
     */
    id?: string;
    /**
     * For operators: the thread's account. An account creates its own threads only.
     */
    account?: string;
    message?: string | {
        content?: string;
        attachments?: Array<string | {
            path: string;
            description?: string;
        } | {
            name: string;
            mimeType: string;
            /**
             * Base64.
             */
            data: string;
            width?: number;
            height?: number;
        }>;
        role?: 'user' | 'assistant';
        /**
         * In the model's context, hidden from the user's transcript.
         */
        silent?: boolean;
        /**
         * Into a thread that works: it joins the run (the default), begins a run of its own, ends the run and begins a new one, or is refused with 409.
         */
        deliver?: 'next_step' | 'next_turn' | 'preempt' | 'reject';
        metadata?: {
            [key: string]: unknown;
        };
        /**
         * Once the message and the run that took it have ended, the result is posted to this URL, signed as Standard Webhooks 1.0 does.
         */
        callback?: {
            url: string;
            /**
             * Yours: `whsec_` with 24 to 64 random bytes in base64.
             */
            secret: string;
        };
        /**
         * Rules for the run that it begins or joins. They can only make those of the thread stricter; the next run does not have them.
         */
        runPermissions?: {
            [key: string]: 'allow' | 'require_approval' | 'deny' | boolean | {
                [key: string]: unknown;
            };
        };
    };
    userId?: string;
    /**
     * Values of variables.
     */
    env?: {
        [key: string]: string;
    };
    tags?: Array<string>;
    title?: string;
    /**
     * A JSON object of your own: at most 16 KB.
     */
    metadata?: {
        [key: string]: unknown;
    };
    /**
     * Where its work takes place, such as a folder or an account. It is not opened.
     */
    workspaceUri?: string;
    /**
     * Rules by capability. They can only make those of other sources stricter.
     */
    permissions?: {
        [key: string]: 'allow' | 'require_approval' | 'deny' | boolean | {
            [key: string]: unknown;
        };
    };
    permissionMode?: 'default' | 'untrusted' | 'on_request' | 'on_failure' | 'never' | 'plan';
    /**
     * False: a call that needs an approval is denied at once.
     */
    interactive?: boolean;
    budgets?: Budgets;
    /**
     * True: the worker that has the agent starts later. Else an agent that no worker has listed is refused.
     */
    allowUnknownAgent?: boolean;
};

/**
 * What it may use. They can only be tighter than those of worker and agent.
 */
export type Budgets = {
    run?: Budget;
    thread?: Budget & unknown;
    tree?: Budget & unknown;
};

/**
 * Of each run.
 */
export type Budget = {
    maxSteps?: number;
    maxModelCalls?: number;
    maxToolCalls?: number;
    maxRuntimeSeconds?: number;
    maxInputTokens?: number;
    maxOutputTokens?: number;
    /**
     * US dollars.
     */
    maxCost?: number;
    /**
     * `ask`: a person may raise the limit, and the same run goes on. Default: `end`.
     */
    onExceeded?: 'end' | 'ask';
    /**
     * Who may raise it.
     */
    approval?: {
        roles?: Array<string>;
        fourEyes?: boolean;
    };
    /**
     * The share of a limit that is worth a warning.
     */
    warnAt?: number;
    /**
     * True: the model reads what is left.
     */
    tellModel?: boolean;
};

export type ThreadsPage = {
    threads: Array<Thread>;
    /**
     * `cursor` of the next page; null on the last one.
     */
    next: string | null;
};

export type ThreadCounts = {
    /**
     * By status.
     */
    counts: {
        [key: string]: number;
    };
    /**
     * True: there are more than the 10,000 with the newest activity, which are counted.
     */
    more: boolean;
};

export type NewFork = {
    /**
     * The last message that the fork has.
     */
    at?: string;
    /**
     * Instead of `at`: the first message that the fork does not have. Without both it has the whole transcript.
     */
    before?: string;
    /**
     * The first message of the fork, such as an edited one.
     */
    message?: string | {
        content?: string;
        attachments?: Array<string | {
            path: string;
            description?: string;
        } | {
            name: string;
            mimeType: string;
            /**
             * Base64.
             */
            data: string;
            width?: number;
            height?: number;
        }>;
        role?: 'user' | 'assistant';
        /**
         * In the model's context, hidden from the user's transcript.
         */
        silent?: boolean;
        /**
         * Into a thread that works: it joins the run (the default), begins a run of its own, ends the run and begins a new one, or is refused with 409.
         */
        deliver?: 'next_step' | 'next_turn' | 'preempt' | 'reject';
        metadata?: {
            [key: string]: unknown;
        };
        /**
         * Once the message and the run that took it have ended, the result is posted to this URL, signed as Standard Webhooks 1.0 does.
         */
        callback?: {
            url: string;
            /**
             * Yours: `whsec_` with 24 to 64 random bytes in base64.
             */
            secret: string;
        };
        /**
         * Rules for the run that it begins or joins. They can only make those of the thread stricter; the next run does not have them.
         */
        runPermissions?: {
            [key: string]: 'allow' | 'require_approval' | 'deny' | boolean | {
                [key: string]: unknown;
            };
        };
    };
    /**
     * The message that `before` names is sent again; left out, that is the last one of a person.
     */
    again?: true;
    /**
     * Idempotency key: a request that is repeated with the same key is carried out once.
     */
    key?: string;
    /**
     * For operators: the id of the fork. An account gives a `key` instead.
     */
    id?: string;
};

export type SessionsPage = {
    sessions: Array<SessionSummary>;
    /**
     * `cursor` of the next page; null on the last one. A page of a rare state may be short.
     */
    next: string | null;
};

export type SessionSummary = {
    /**
     * The id of its root thread.
     */
    sessionId: string;
    /**
     * active, idle, completed, failed, abandoned, terminated, escalated, archived; later versions add some.
     */
    state: string;
    agent: string;
    title: string | null;
    tags: Array<string>;
    workspaceUri: string | null;
    account: string | null;
    userId: string | null;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
    /**
     * Microseconds since 1970.
     */
    lastActivityAt: number;
    /**
     * Microseconds since 1970.
     */
    closedAt: number | null;
    /**
     * Microseconds since 1970.
     */
    archivedAt: number | null;
    /**
     * A person has taken over; null: nobody has.
     */
    escalation: {
        to: string | null;
        reason: string | null;
        /**
         * Microseconds since 1970.
         */
        at: number;
    } | null;
    /**
     * Of the newest event of its root thread.
     */
    lastSequence: number;
};

export type Session = {
    /**
     * The id of its root thread.
     */
    sessionId: string;
    /**
     * active, idle, completed, failed, abandoned, terminated, escalated, archived; later versions add some.
     */
    state: string;
    agent: string;
    title: string | null;
    tags: Array<string>;
    workspaceUri: string | null;
    account: string | null;
    userId: string | null;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
    /**
     * Microseconds since 1970.
     */
    lastActivityAt: number;
    /**
     * Microseconds since 1970.
     */
    closedAt: number | null;
    /**
     * Microseconds since 1970.
     */
    archivedAt: number | null;
    /**
     * A person has taken over; null: nobody has.
     */
    escalation: {
        to: string | null;
        reason: string | null;
        /**
         * Microseconds since 1970.
         */
        at: number;
    } | null;
    /**
     * Of the newest event of its root thread.
     */
    lastSequence: number;
    metadata: {
        [key: string]: unknown;
    } | null;
    /**
     * Threads that work or are about to, at most 100.
     */
    activeThreads: Array<string>;
    pinnedThreads: 'unavailable';
    threadCount: number;
    threads: ThreadsPage & unknown;
    /**
     * The newest of its root thread: at most 20, and at most 256 KB.
     */
    messages: Array<Message>;
    /**
     * The newest run of its root thread.
     */
    lastRun: {
        runId: string;
        trigger: string;
        steps: number;
        /**
         * Microseconds since 1970.
         */
        startedAt: number;
        /**
         * Microseconds since 1970.
         */
        endedAt: number | null;
        reason: string | null;
        /**
         * As in `RunResult`.
         */
        output: {
            [key: string]: unknown;
        } | null;
    } | null;
    /**
     * Of its root thread, without their values; at most 100.
     */
    variables: Array<{
        name: string;
        type: string;
    }>;
    /**
     * The keys of the values that tools of its root thread keep; at most 100.
     */
    values: Array<string>;
    /**
     * The 20 newest files of its threads.
     */
    artifacts: Array<{
        threadId: string;
        path: string;
        name: string;
        mimeType: string;
        size: number;
        /**
         * Microseconds since 1970.
         */
        updatedAt: number;
    }>;
    tasks: 'unavailable';
    evidence: 'unavailable';
    usage: ThreadUsage;
    stale: false;
    /**
     * True: there are more than are shown.
     */
    truncated: {
        threads: boolean;
        messages: boolean;
        artifacts: boolean;
    };
};

export type Message = {
    id: string;
    role: 'system' | 'user' | 'assistant' | 'tool';
    content: string | null;
    name: string | null;
    tool_calls: string | null;
    tool_call_id: string | null;
    /**
     * Microseconds since 1970.
     */
    created_at: number;
    parent_id: string | null;
    depth: number;
    silent: boolean;
    metadata: {
        [key: string]: unknown;
    } | null;
    status: 'pending' | 'completed' | 'failed' | 'interrupted' | 'rejected' | 'refused' | 'removed';
    tool_status: 'success' | 'error' | null;
    attachments: Array<Attachment>;
    reasoning_content: string | null;
    /**
     * Why the model ended its answer: stop, tool-calls, other, or length for one that is cut off.
     */
    finish_reason: string | null;
    /**
     * What the provider of the model has run itself, and the sources of the answer.
     */
    provider_parts?: Array<{
        type: 'call';
        id: string;
        name: string;
        input?: unknown;
    } | {
        type: 'result';
        id: string;
        name: string;
        output?: unknown;
        isError: boolean;
    } | {
        type: 'source';
        id: string;
        url: string;
        title: string | null;
    } | {
        type: 'document';
        id: string;
        mediaType: string;
        title: string;
        filename: string | null;
    }>;
    prompt: string | null;
    subagent_id: string | null;
    /**
     * Place in the transcript, from 1; null while queued.
     */
    position: number | null;
};

export type Attachment = {
    id: string;
    type: 'file';
    path: string;
    name: string;
    mimeType: string;
    size: number;
    width?: number;
    height?: number;
    description?: string;
};

/**
 * Null unless the request asks for it.
 */
export type ThreadUsage = {
    threads: number;
    messages: number;
    runs: number;
    steps: number;
    toolCalls: number;
    failedToolCalls: number;
    toolTime: Durations;
    /**
     * Requests to providers, with retries and fallbacks.
     */
    requests: number;
    failedRequests: number;
    inputTokens: number;
    outputTokens: number;
    /**
     * A part of inputTokens.
     */
    cachedInputTokens: number;
    /**
     * Millionths of a dollar; null: the price of a model is unknown.
     */
    cost: number | null;
    /**
     * The part of the cost whose prices are known.
     */
    knownCost: number;
    answerTime: Durations;
    models: Array<ModelUsage>;
} | null;

/**
 * Milliseconds; null: there was none.
 */
export type Durations = {
    count: number;
    mean: number | null;
    p50: number | null;
    p95: number | null;
    max: number | null;
};

export type ModelUsage = {
    model: string;
    /**
     * Requests to providers, with retries and fallbacks.
     */
    requests: number;
    failedRequests: number;
    inputTokens: number;
    outputTokens: number;
    /**
     * A part of inputTokens.
     */
    cachedInputTokens: number;
    /**
     * Millionths of a dollar; null: the price of a model is unknown.
     */
    cost: number | null;
    /**
     * The part of the cost whose prices are known.
     */
    knownCost: number;
    answerTime: Durations;
};

export type SessionChanges = {
    title?: string | null;
    tags?: Array<string>;
    /**
     * A JSON object of your own: at most 16 KB.
     */
    metadata?: {
        [key: string]: unknown;
    } | null;
    /**
     * Where its work takes place, such as a folder or an account. It is not opened.
     */
    workspaceUri?: string | null;
};

export type Deleted = {
    /**
     * The number of deleted threads, subagents included.
     */
    threads: number;
    /**
     * The threads whose histories Temporal keeps until its retention ends.
     */
    kept: Array<{
        threadId: string;
        problem: string;
    }>;
};

export type MessagesPage = {
    messages: Array<Message>;
    hasMore: boolean;
};

export type MessageRead = {
    message: Message;
    /**
     * Who sent it: client, cli, parent, child, tool, hook, effect, model or runtime.
     */
    source: string;
    /**
     * Null while it waits in the queue.
     */
    end: {
        kind: 'delivered';
        runId: string | null;
    } | {
        kind: 'rejected';
        threadStatus: string;
    } | {
        kind: 'refused';
        hook: string | null;
    } | {
        kind: 'removed';
    } | null;
};

export type SentMessage = {
    messageId: string;
    /**
     * queued: the thread worked, or something waited before it.
     */
    status: 'accepted' | 'queued';
};

export type NewMessage = {
    content?: string;
    attachments?: Array<string | {
        path: string;
        description?: string;
    } | {
        name: string;
        mimeType: string;
        /**
         * Base64.
         */
        data: string;
        width?: number;
        height?: number;
    }>;
    role?: 'user' | 'assistant';
    /**
     * In the model's context, hidden from the user's transcript.
     */
    silent?: boolean;
    /**
     * Into a thread that works: it joins the run (the default), begins a run of its own, ends the run and begins a new one, or is refused with 409.
     */
    deliver?: 'next_step' | 'next_turn' | 'preempt' | 'reject';
    metadata?: {
        [key: string]: unknown;
    };
    /**
     * Once the message and the run that took it have ended, the result is posted to this URL, signed as Standard Webhooks 1.0 does.
     */
    callback?: {
        url: string;
        /**
         * Yours: `whsec_` with 24 to 64 random bytes in base64.
         */
        secret: string;
    };
    /**
     * Rules for the run that it begins or joins. They can only make those of the thread stricter; the next run does not have them.
     */
    runPermissions?: {
        [key: string]: 'allow' | 'require_approval' | 'deny' | boolean | {
            [key: string]: unknown;
        };
    };
    /**
     * Idempotency key: a request that is repeated with the same key is carried out once.
     */
    key?: string;
};

export type QueuedToolCall = {
    toolCallId: string;
};

export type NewToolCall = {
    name: string;
    /**
     * Checked against the schema of the tool.
     */
    arguments?: {
        [key: string]: unknown;
    };
    /**
     * Idempotency key: a request that is repeated with the same key is carried out once.
     */
    key?: string;
};

export type ToolCallRead = {
    toolCallId: string;
    name: string;
    /**
     * open, succeeded, failed, denied, interrupted, cancelled; unknown: it may have taken effect.
     */
    status: string;
    errorCode: string | null;
    /**
     * The failure that it met, also one that was overcome.
     */
    failure: {
        /**
         * transient, rate_limit, timeout, invalid, permission, not_found, conflict, permanent, cancelled, unknown; later versions add some.
         */
        category: string;
        /**
         * The same call may succeed later.
         */
        isRetryable: boolean;
        advice: string;
        /**
         * How often its code was run, if that was counted.
         */
        attempts?: number;
        /**
         * Of an HTTP answer.
         */
        status?: number;
        /**
         * What took its place: retry, fallback or person; left out: nothing.
         */
        recovery?: string;
    } | null;
    /**
     * Null while the call is open.
     */
    result: Message | null;
    /**
     * What it has shown while it runs; null: nothing, or it has ended.
     */
    live: {
        progress: {
            progress?: number;
            total?: number;
            message?: string;
        } | null;
        output: string;
    } | null;
    /**
     * With arguments, flags, permission and files; null: nothing is decided yet.
     */
    decision: RecordedDecision | null;
    /**
     * The subagents that it started.
     */
    children: Array<string>;
    /**
     * Microseconds since 1970.
     */
    startedAt: number | null;
    /**
     * Microseconds since 1970.
     */
    finishedAt: number | null;
};

export type RecordedDecision = {
    toolCallId: string;
    toolName: string;
    runId: string;
    stepId: string;
    /**
     * The message that proposed the call; null: the code of a tool made it.
     */
    messageId: string | null;
    /**
     * The call of a prompt or tool that made it; null: the model of a side did.
     */
    parentCallId: string | null;
    /**
     * Null: the call did not begin.
     */
    startedAt: number | null;
    /**
     * Null: the call has not ended.
     */
    outcome: 'succeeded' | 'failed' | 'denied' | 'interrupted' | 'cancelled' | 'unknown' | null;
    errorCode: string | null;
    resultMessageId: string | null;
    /**
     * Microseconds since 1970.
     */
    finishedAt: number | null;
    decision: 'allowed' | 'denied' | 'asked';
    /**
     * What decided; later versions add members.
     */
    source: string;
    reason?: string;
    /**
     * The id of the hook, where a hook decided.
     */
    hook?: string;
    /**
     * Each as `source:rule`.
     */
    rules?: Array<string>;
    /**
     * What demanded it, where that is more than `source` or something else.
     */
    sources?: Array<string>;
    /**
     * The mode of the thread, unless it is `default`.
     */
    mode?: string;
    /**
     * Nobody could be asked.
     */
    interactive?: false;
    /**
     * The authority that the call needs.
     */
    capabilities?: Array<string>;
    /**
     * What the call destroys, if its definition says that it does.
     */
    destructive?: true | {
        impact: string;
        undo?: string;
    };
    action: RecordedAction;
    permission: {
        mode: string;
        rules: Array<string>;
        sources: Array<string>;
        /**
         * False: nobody could be asked.
         */
        interactive: boolean;
    };
    sandbox: {
        state: 'unavailable' | 'not_applicable';
        reason: 'worker_process' | 'remote_worker' | 'no_code' | 'not_begun';
    };
    /**
     * The request that asked a person.
     */
    requestId?: string;
    /**
     * The remembered approval that allowed it.
     */
    grantId?: string;
    /**
     * The person that answered.
     */
    by?: string;
    /**
     * The person gave other arguments.
     */
    changed?: true;
    /**
     * The hooks that gave other arguments.
     */
    changedBy?: Array<string>;
    /**
     * The person gave a result in the place of the call.
     */
    answered?: true;
};

export type RecordedAction = {
    id: string;
    kind: 'tool' | 'prompt' | 'hand_off' | 'subagent' | 'subagent_message';
    name: string;
    /**
     * As they were checked. Secret fields are `[redacted]`. Null: they are no JSON.
     */
    arguments?: unknown;
    /**
     * The authority that the call needs.
     */
    capabilities: Array<string>;
    readOnly: boolean;
    destructive: boolean | {
        impact: string;
        undo?: string;
    };
    runtimeOwner: 'local' | 'remote' | 'prompt' | 'agent' | 'subagent';
    /**
     * The preview that a person was shown, and the files of the result.
     */
    artifacts: Array<{
        kind: 'preview' | 'result';
        name: string;
        /**
         * The path of a file of the thread.
         */
        uri?: string;
        mediaType?: string;
        actionId: string;
        parts?: Array<{
            type: 'text';
            text: string;
            title?: string;
        } | {
            type: 'json';
            value?: unknown;
            title?: string;
        } | {
            type: 'diff';
            before: string;
            after: string;
            title?: string;
        } | {
            type: 'file';
            path: string;
            title?: string;
        }>;
        metadata?: {
            [key: string]: unknown;
        };
    }>;
};

export type RunResult = {
    /**
     * As in `Thread`.
     */
    status: string;
    runId: string | null;
    reason: string | null;
    /**
     * The last visible text of the run.
     */
    reply: Message | null;
    session: {
        outcome: 'success' | 'failure';
        message: string;
        attachments: Array<Attachment>;
    } | null;
    /**
     * The answer as the `output` of the agent makes it; null: it has none, or the run ended otherwise.
     */
    output: {
        [key: string]: unknown;
    } | null;
    steps: number;
    /**
     * Events after it are newer than this result.
     */
    lastSequence: number;
    usage: {
        inputTokens: number;
        outputTokens: number;
        cachedInputTokens: number;
        /**
         * Millionths of a dollar; null: unknown.
         */
        cost: number | null;
    };
};

export type Waited = {
    idle: boolean;
    result: RunResult | null;
    /**
     * Why it is not idle yet.
     */
    reason: string | null;
};

export type Stopped = {
    status: 'accepted' | 'no_op';
    /**
     * The run that was open.
     */
    runId?: string;
};

export type CompactionRequested = {
    status: 'requested' | 'no_op';
};

export type Cancelled = {
    status: 'removed' | 'cancelled';
    /**
     * The run that is stopped.
     */
    runId?: string;
};

export type RecordedErrors = {
    errors: Array<RecordedError>;
};

export type RecordedError = {
    /**
     * The `errorId` of events and of the worker's log.
     */
    id: string;
    /**
     * Microseconds since 1970.
     */
    at: number;
    /**
     * The kind of a failure, for programs.
     */
    type: string;
    /**
     * The text of the provider or of the code, without known secrets.
     */
    message: string;
    stack: string | null;
};

export type EventFrame = {
    id: string;
    /**
     * The type of the event.
     */
    event: string;
    /**
     * The event, as JSON; with `view` one of these.
     */
    data: string;
};

export type Snapshot = {
    threadId: string;
    agent: string;
    parent: string | null;
    /**
     * The run of the parent that started it.
     */
    parentRun: string | null;
    /**
     * Where a fork has its transcript from; null for a thread that is no fork.
     */
    forkedFrom: {
        /**
         * It may have been deleted since.
         */
        threadId: string;
        /**
         * The last message that the fork has of it.
         */
        messageId: string | null;
    } | null;
    /**
     * The agents that the work has come through, its own last.
     */
    agentChain: Array<string>;
    root: string;
    /**
     * idle, running, waiting_permission, waiting_input, waiting_resource, blocked, stopped, completed, failed, terminated, lost; later versions add some.
     */
    status: string;
    /**
     * The status text that the thread last set; null if it has set none.
     */
    statusText: string | null;
    /**
     * True: read from the store, because no worker answered or it is closed.
     */
    stale: boolean;
    /**
     * Microseconds since 1970.
     */
    at: number;
    run: {
        runId: string;
        side: 'a' | 'b';
        steps: number;
        sessionTurns: number;
        doing: string | null;
        /**
         * The task queue of this work, if not the thread's own: it waits for a worker there.
         */
        taskQueue?: string;
        /**
         * Microseconds since 1970.
         */
        since: number;
    } | null;
    queue: Array<{
        id: string;
        kind: 'message' | 'tool' | 'effect' | 'report' | 'variables' | 'continue';
        /**
         * Microseconds since 1970.
         */
        queuedAt: number;
        preview?: string;
    }>;
    pending: Array<PendingRequest>;
    effects: Array<{
        id: string;
        name: string;
        /**
         * Microseconds since 1970.
         */
        scheduledAt: number;
        /**
         * Microseconds since 1970.
         */
        createdAt: number;
    }>;
    /**
     * The first 50.
     */
    children: Array<Subagent>;
    childCount: number;
    lastRun: {
        runId: string;
        /**
         * Why a run ended; later versions add members.
         */
        reason: string;
        steps: number;
        /**
         * Microseconds since 1970.
         */
        endedAt: number;
    } | null;
    lastSequence: number;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
    /**
     * Microseconds since 1970.
     */
    terminated: number | null;
};

export type PendingRequest = {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'approval';
    toolCallId: string;
    action: 'tool' | 'prompt' | 'hand_off' | 'subagent' | 'subagent_message';
    toolName: string;
    description?: string;
    /**
     * Secret fields are `[redacted]`.
     */
    args?: unknown;
    /**
     * The JSON schema of the arguments, for a form.
     */
    schema?: unknown;
    /**
     * What the tool shows of the call.
     */
    preview?: Array<{
        type: 'text';
        text: string;
        title?: string;
    } | {
        type: 'json';
        value?: unknown;
        title?: string;
    } | {
        type: 'diff';
        before: string;
        after: string;
        title?: string;
    } | {
        type: 'file';
        path: string;
        title?: string;
    }>;
    /**
     * Why a person is asked.
     */
    decision?: {
        /**
         * What decided; later versions add members.
         */
        source: string;
        reason?: string;
        /**
         * The id of the hook, where a hook decided.
         */
        hook?: string;
        /**
         * Each as `source:rule`.
         */
        rules?: Array<string>;
        /**
         * What demanded it, where that is more than `source` or something else.
         */
        sources?: Array<string>;
        /**
         * The mode of the thread, unless it is `default`.
         */
        mode?: string;
        /**
         * Nobody could be asked.
         */
        interactive?: false;
        /**
         * The authority that the call needs.
         */
        capabilities?: Array<string>;
        /**
         * What the call destroys, if its definition says that it does.
         */
        destructive?: true | {
            impact: string;
            undo?: string;
        };
    };
    /**
     * What an answer may do.
     */
    answers: Array<'approve' | 'deny' | 'arguments' | 'result' | 'remember'>;
    /**
     * Who may answer.
     */
    approvers?: {
        /**
         * A role of each list.
         */
        roles?: Array<Array<string>>;
        fourEyes?: true;
    };
    /**
     * When it is denied if nobody has answered.
     */
    expiresAt?: number;
} | {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'budget';
    scope: 'run' | 'thread' | 'tree' | 'user' | 'account';
    period: 'total' | 'hour' | 'day' | 'month';
    limit: 'maxSteps' | 'maxModelCalls' | 'maxToolCalls' | 'maxRuntimeSeconds' | 'maxInputTokens' | 'maxOutputTokens' | 'maxCost';
    most: number;
    used: number;
    /**
     * Who may answer.
     */
    approvers?: {
        /**
         * A role of each list.
         */
        roles?: Array<Array<string>>;
        fourEyes?: true;
    };
} | {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'call';
    toolName: string;
    /**
     * As the model wrote them.
     */
    args?: unknown;
    /**
     * The JSON schema of the `result` of the answer.
     */
    form?: unknown;
    /**
     * The login that the call waits for: the user of the thread opens the `url`, and the `result` has the `code` and `state` (or `error`) that it gives back.
     */
    connect?: {
        server: string;
        url: string;
        state: string;
    };
} | {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'variables';
    agent: string;
    required: Array<string>;
    missing: Array<string>;
    /**
     * The subagent that starts with the answer.
     */
    child?: string;
};

export type Subagent = {
    /**
     * Its thread id.
     */
    reference: string;
    name: string;
    title?: string;
    description: string;
    resumable: boolean;
    blocking: boolean;
    threadName?: string;
    spawnGroupId?: string;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
    status: string;
    parentCommunication: 'implicit' | 'explicit';
};

export type Tree = {
    threadId: string;
    agent: string;
    /**
     * idle, running, waiting_permission, waiting_input, waiting_resource, blocked, stopped, completed, failed, terminated, lost; later versions add some.
     */
    status: string;
    /**
     * Microseconds since 1970.
     */
    closedAt: number | null;
    entry: Subagent | null;
    children: Array<Tree>;
};

export type ThreadTools = {
    threadId: string;
    agent: string;
    /**
     * Null: no worker has recorded the agent.
     */
    recordedAt: number | null;
    /**
     * Why nothing can be called at all.
     */
    unavailable: string | null;
    tools: Array<ThreadTool>;
};

export type ThreadTool = {
    toolName: string;
    side: 'a' | 'b';
    prompt: string;
    /**
     * function, remote, prompt, …; later versions add members.
     */
    kind: string;
    description: string;
    /**
     * The JSON Schema of its arguments, as the model gets it.
     */
    inputSchema: {
        [key: string]: unknown;
    };
    runtimeOwner: 'local' | 'remote' | 'workflow' | 'prompt' | 'agent' | 'subagent';
    taskQueue?: string;
    activity?: string;
    /**
     * Of a tool that is a workflow.
     */
    workflow?: {
        type: string;
        mode: 'execute' | 'start';
    };
    /**
     * Of a tool of an MCP server: its name.
     */
    source?: string;
    /**
     * The authority that the call needs.
     */
    capabilities: Array<string>;
    isReadOnly: boolean;
    isConcurrencySafe: boolean;
    isDestructive: boolean;
    isIdempotent: boolean;
    interruptBehavior: 'cancel' | 'abandon';
    /**
     * Milliseconds; null: no limit of its own.
     */
    timeout: number | null;
    needsApproval: boolean | 'by_arguments';
    policy: 'allowed' | 'ask' | 'denied' | 'unavailable';
    /**
     * Why a model is not offered it.
     */
    unavailable?: string;
    /**
     * Code that judges arguments may decide otherwise.
     */
    dependsOnArguments: boolean;
    decision: {
        decision: 'allowed' | 'denied' | 'asked';
        /**
         * What decided; later versions add members.
         */
        source: string;
        reason?: string;
        /**
         * The id of the hook, where a hook decided.
         */
        hook?: string;
        /**
         * Each as `source:rule`.
         */
        rules?: Array<string>;
        /**
         * What demanded it, where that is more than `source` or something else.
         */
        sources?: Array<string>;
        /**
         * The mode of the thread, unless it is `default`.
         */
        mode?: string;
        /**
         * Nobody could be asked.
         */
        interactive?: false;
        /**
         * The authority that the call needs.
         */
        capabilities?: Array<string>;
        /**
         * What the call destroys, if its definition says that it does.
         */
        destructive?: true | {
            impact: string;
            undo?: string;
        };
    };
    /**
     * By the agent in the arguments.
     */
    agents?: {
        [key: string]: 'allowed' | 'ask' | 'denied' | 'unavailable';
    };
    metadataRef: null;
};

export type PermissionSummary = {
    threadId: string;
    agent: string;
    /**
     * When a worker recorded its rules and those of the agent; null: they are unknown.
     */
    recordedAt: number | null;
    modes: {
        worker?: string;
        thread?: string;
    };
    /**
     * False: nobody can be asked.
     */
    interactive: boolean;
    /**
     * Allow, require_approval or deny by rule; of all that apply to a call the strictest counts.
     */
    rules: Array<{
        source: string;
        effects: {
            [key: string]: string;
        };
    }>;
    /**
     * Whether a policy function of the worker decides as well; null: unknown.
     */
    hasPolicy: boolean | null;
    grants: Array<Grant>;
    /**
     * The calls that wait for a person.
     */
    pending: Array<{
        id: string;
        /**
         * Microseconds since 1970.
         */
        requestedAt: number;
        kind: 'approval';
        toolCallId: string;
        action: 'tool' | 'prompt' | 'hand_off' | 'subagent' | 'subagent_message';
        toolName: string;
        description?: string;
        /**
         * Secret fields are `[redacted]`.
         */
        args?: unknown;
        /**
         * The JSON schema of the arguments, for a form.
         */
        schema?: unknown;
        /**
         * What the tool shows of the call.
         */
        preview?: Array<{
            type: 'text';
            text: string;
            title?: string;
        } | {
            type: 'json';
            value?: unknown;
            title?: string;
        } | {
            type: 'diff';
            before: string;
            after: string;
            title?: string;
        } | {
            type: 'file';
            path: string;
            title?: string;
        }>;
        /**
         * Why a person is asked.
         */
        decision?: {
            /**
             * What decided; later versions add members.
             */
            source: string;
            reason?: string;
            /**
             * The id of the hook, where a hook decided.
             */
            hook?: string;
            /**
             * Each as `source:rule`.
             */
            rules?: Array<string>;
            /**
             * What demanded it, where that is more than `source` or something else.
             */
            sources?: Array<string>;
            /**
             * The mode of the thread, unless it is `default`.
             */
            mode?: string;
            /**
             * Nobody could be asked.
             */
            interactive?: false;
            /**
             * The authority that the call needs.
             */
            capabilities?: Array<string>;
            /**
             * What the call destroys, if its definition says that it does.
             */
            destructive?: true | {
                impact: string;
                undo?: string;
            };
        };
        /**
         * What an answer may do.
         */
        answers: Array<'approve' | 'deny' | 'arguments' | 'result' | 'remember'>;
        /**
         * Who may answer.
         */
        approvers?: {
            /**
             * A role of each list.
             */
            roles?: Array<Array<string>>;
            fourEyes?: true;
        };
        /**
         * When it is denied if nobody has answered.
         */
        expiresAt?: number;
    }>;
    /**
     * Tools run in the worker: there is none.
     */
    sandbox: 'unavailable';
};

export type Grant = {
    id: string;
    for: 'thread' | 'tree' | 'user';
    threadId: string | null;
    account: string | null;
    userId: string | null;
    toolName: string;
    /**
     * It holds for calls that need no others; null: for the same arguments of the tool.
     */
    capabilities: Array<string> | null;
    givenIn: {
        threadId: string;
        requestId: string;
    };
    by: string | null;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
    /**
     * Microseconds since 1970.
     */
    expiresAt: number | null;
};

export type RoutingSummary = {
    threadId: string;
    /**
     * The newest choice of a model; null: none in the newest 1,000 events.
     */
    choice: {
        /**
         * Null: no model is left.
         */
        model: string | null;
        /**
         * As the event `model.requested` has it.
         */
        routing?: unknown;
        /**
         * The candidates that could be called.
         */
        available: number;
        runId: string | null;
        stepId: string | null;
        /**
         * Microseconds since 1970.
         */
        at: number;
    } | null;
    /**
     * The limit of the account for which the thread waits.
     */
    waitsFor: {
        limit: string;
        /**
         * Microseconds since 1970.
         */
        until: number;
    } | null;
    budgets: Array<BudgetState>;
    usage: ThreadUsage;
};

export type BudgetState = {
    scope: 'run' | 'thread' | 'tree' | 'user' | 'account';
    period: 'total' | 'hour' | 'day' | 'month';
    /**
     * As persons have raised them.
     */
    limits: {
        maxSteps?: number;
        maxModelCalls?: number;
        maxToolCalls?: number;
        maxRuntimeSeconds?: number;
        maxInputTokens?: number;
        maxOutputTokens?: number;
        /**
         * US dollars.
         */
        maxCost?: number;
    };
    /**
     * Of the same limits.
     */
    used: {
        maxSteps?: number;
        maxModelCalls?: number;
        maxToolCalls?: number;
        maxRuntimeSeconds?: number;
        maxInputTokens?: number;
        maxOutputTokens?: number;
        /**
         * US dollars.
         */
        maxCost?: number;
    };
};

export type Capabilities = {
    families: Array<{
        layer: 'core' | 'extension' | 'profile';
        name: string;
        status: 'available' | 'partial' | 'unavailable';
        detail: string;
    }>;
    /**
     * The facts of the layer map of the Agent Runtime draft.
     */
    facts: Array<{
        layer: 'input' | 'execution' | 'state' | 'coordination' | 'observability';
        name: string;
        status: 'available' | 'unavailable';
        detail: string;
    }>;
    /**
     * The commands of the Agent Runtime draft.
     */
    commands: Array<{
        name: string;
        status: 'available';
        /**
         * The method of the client in TypeScript.
         */
        client: string;
        /**
         * The `operationId` of its route.
         */
        operation: string;
    } | {
        name: string;
        status: 'unavailable';
        reason: string;
    }>;
    /**
     * The events of the expanded families of the Agent Runtime draft.
     */
    events: Array<{
        type: string;
        family: string;
        status: 'available';
    } | {
        type: string;
        family: string;
        status: 'unavailable';
        reason: string;
    }>;
    unavailable: Array<{
        id: string;
        name: string;
        reason: string;
    }>;
};

export type Queue = {
    threadId: string;
    items: Array<{
        id: string;
        kind: 'message' | 'tool' | 'effect' | 'report' | 'variables' | 'continue';
        /**
         * Microseconds since 1970.
         */
        queuedAt: number;
        preview?: string;
        place: number;
        /**
         * client, cli, parent, child, tool, hook, effect, runtime or unknown.
         */
        source: string;
        /**
         * How it will be delivered; later versions add members.
         */
        deliver: string;
    }>;
    waiting: number;
    resumes: 'now' | 'run' | 'answer' | 'limit' | 'parked' | 'reopen' | 'never';
    stale: boolean;
    /**
     * Microseconds since 1970.
     */
    at: number;
};

export type ChildrenPage = {
    children: Array<Subagent>;
    count: number;
    /**
     * `cursor` of the next page; null on the last one.
     */
    next: string | null;
};

export type ContextBoundaries = {
    boundaries: Array<ContextBoundary>;
};

export type ContextBoundary = {
    side: 'a' | 'b';
    position: number;
    reason: string;
    opening: number | null;
    clippedUpTo: number | null;
    clearedUpTo: number | null;
    summary: string | null;
    operation: string;
    dropped: number;
    tokensBefore: number | null;
    tokensAfter: number | null;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
};

export type Artifacts = {
    threadId: string;
    newest: Array<{
        path: string;
        mimeType: string;
        size: number;
        /**
         * Microseconds since 1970.
         */
        updatedAt: number;
        /**
         * Equal for equal bytes.
         */
        version: string | null;
    }>;
    count: number;
    bytes: number;
    previews: Unavailable;
    validation: Unavailable;
    diffs: Unavailable;
};

/**
 * This runtime cannot say it, for this reason.
 */
export type Unavailable = {
    unavailable: string;
};

export type Diagnostics = {
    threadId: string;
    /**
     * idle, running, waiting_permission, waiting_input, waiting_resource, blocked, stopped, completed, failed, terminated, lost; later versions add some.
     */
    status: string;
    stale: boolean;
    /**
     * Microseconds since 1970.
     */
    at: number;
    findings: Array<{
        kind: string;
        threadId: string | null;
        /**
         * For operators only; empty for others.
         */
        problem: string;
        fixed: boolean;
        remedy: string;
    }> | Unavailable;
    incidents: Array<Incident>;
    errors: Array<{
        id: string;
        /**
         * Microseconds since 1970.
         */
        at: number;
        type: string;
    }>;
    pending: number;
    working: {
        doing: string | null;
        /**
         * Microseconds since 1970.
         */
        since: number;
    } | null;
    interrupt: 'none' | 'stopped' | 'terminating' | 'terminated';
    waitsFor: {
        limit: string;
        /**
         * Microseconds since 1970.
         */
        until: number;
    } | null;
    exceeded: Array<string>;
    context: ContextBoundary | 'not_applicable';
    commands: Unavailable;
    processes: Unavailable;
};

export type Incident = {
    kind: 'warning' | 'failed_call' | 'failed_request' | 'failed_hook' | 'failed_effect' | 'failed_run';
    code: string;
    name: string | null;
    sequence: number;
    /**
     * Microseconds since 1970.
     */
    at: number;
    runId?: string;
    toolCallId?: string;
    outcome?: 'succeeded' | 'failed' | 'denied' | 'interrupted' | 'cancelled' | 'unknown';
    errorId?: string;
};

export type ReadModel = {
    threadId: string;
    sessionId: string;
    agent: string;
    /**
     * idle, running, waiting_permission, waiting_input, waiting_resource, blocked, stopped, completed, failed, terminated, lost; later versions add some.
     */
    status: string;
    controlState: 'accepted' | 'queued' | 'preparing' | 'running' | 'waiting_input' | 'waiting_permission' | 'waiting_resource' | 'blocked' | 'streaming' | 'retrying' | 'lost' | 'timed_out' | 'completed' | 'failed' | 'cancelled' | 'stale';
    stale: boolean;
    /**
     * Microseconds since 1970.
     */
    at: number;
    activeTurn: {
        turnId: string;
    } | 'not_applicable' | 'unknown';
    run: {
        runId: string;
        side: 'a' | 'b';
        steps: number;
        sessionTurns: number;
        doing: string | null;
        /**
         * The task queue of this work, if not the thread's own: it waits for a worker there.
         */
        taskQueue?: string;
        /**
         * Microseconds since 1970.
         */
        since: number;
    } | null;
    lastOutcome: {
        runId: string;
        reason: string;
        steps: number;
        /**
         * Microseconds since 1970.
         */
        endedAt: number;
    } | 'not_applicable';
    pending: Array<PendingRequest>;
    queue: Queue;
    diagnostics: Diagnostics;
    tools: {
        allowed: number;
        ask: number;
        denied: number;
        unavailable: number;
    } | Unavailable;
    artifacts: Artifacts;
    routing: {
        /**
         * The newest choice of a model; null: none in the newest 1,000 events.
         */
        choice: {
            /**
             * Null: no model is left.
             */
            model: string | null;
            /**
             * As the event `model.requested` has it.
             */
            routing?: unknown;
            /**
             * The candidates that could be called.
             */
            available: number;
            runId: string | null;
            stepId: string | null;
            /**
             * Microseconds since 1970.
             */
            at: number;
        } | null;
        /**
         * The limit of the account for which the thread waits.
         */
        waitsFor: {
            limit: string;
            /**
             * Microseconds since 1970.
             */
            until: number;
        } | null;
        budgets: Array<BudgetState>;
        usage: ThreadUsage;
    };
    permissions: {
        /**
         * When a worker recorded its rules and those of the agent; null: they are unknown.
         */
        recordedAt: number | null;
        modes: {
            worker?: string;
            thread?: string;
        };
        /**
         * False: nobody can be asked.
         */
        interactive: boolean;
        /**
         * Allow, require_approval or deny by rule; of all that apply to a call the strictest counts.
         */
        rules: Array<{
            source: string;
            effects: {
                [key: string]: string;
            };
        }>;
        /**
         * Whether a policy function of the worker decides as well; null: unknown.
         */
        hasPolicy: boolean | null;
        grants: Array<Grant>;
        /**
         * Tools run in the worker: there is none.
         */
        sandbox: 'unavailable';
    };
    subagents: {
        count: number;
        first: Array<Subagent>;
    };
    telemetry: {
        traceparent: string;
    } | 'unknown';
    tasks: Unavailable;
    jobs: Unavailable;
    evidence: Unavailable;
    environment: Unavailable;
    processes: Unavailable;
    channels: Unavailable;
    unavailable: Array<{
        id: string;
        name: string;
        reason: string;
    }>;
};

export type Folder = {
    entries: Array<File>;
};

export type File = {
    path: string;
    name: string;
    mimeType: string;
    storage: 'local';
    size: number;
    isDirectory: boolean;
    metadata: {
        [key: string]: unknown;
    } | null;
    width: number | null;
    height: number | null;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
    /**
     * Microseconds since 1970.
     */
    updatedAt: number;
};

export type RequestsPage = {
    requests: Array<ThreadRequest>;
    /**
     * `cursor` of the next page; null on the last one.
     */
    next: string | null;
};

export type ThreadRequest = {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'approval';
    toolCallId: string;
    action: 'tool' | 'prompt' | 'hand_off' | 'subagent' | 'subagent_message';
    toolName: string;
    description?: string;
    /**
     * Secret fields are `[redacted]`.
     */
    args?: unknown;
    /**
     * The JSON schema of the arguments, for a form.
     */
    schema?: unknown;
    /**
     * What the tool shows of the call.
     */
    preview?: Array<{
        type: 'text';
        text: string;
        title?: string;
    } | {
        type: 'json';
        value?: unknown;
        title?: string;
    } | {
        type: 'diff';
        before: string;
        after: string;
        title?: string;
    } | {
        type: 'file';
        path: string;
        title?: string;
    }>;
    /**
     * Why a person is asked.
     */
    decision?: {
        /**
         * What decided; later versions add members.
         */
        source: string;
        reason?: string;
        /**
         * The id of the hook, where a hook decided.
         */
        hook?: string;
        /**
         * Each as `source:rule`.
         */
        rules?: Array<string>;
        /**
         * What demanded it, where that is more than `source` or something else.
         */
        sources?: Array<string>;
        /**
         * The mode of the thread, unless it is `default`.
         */
        mode?: string;
        /**
         * Nobody could be asked.
         */
        interactive?: false;
        /**
         * The authority that the call needs.
         */
        capabilities?: Array<string>;
        /**
         * What the call destroys, if its definition says that it does.
         */
        destructive?: true | {
            impact: string;
            undo?: string;
        };
    };
    /**
     * What an answer may do.
     */
    answers: Array<'approve' | 'deny' | 'arguments' | 'result' | 'remember'>;
    /**
     * Who may answer.
     */
    approvers?: {
        /**
         * A role of each list.
         */
        roles?: Array<Array<string>>;
        fourEyes?: true;
    };
    /**
     * When it is denied if nobody has answered.
     */
    expiresAt?: number;
    threadId: string;
} | {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'budget';
    scope: 'run' | 'thread' | 'tree' | 'user' | 'account';
    period: 'total' | 'hour' | 'day' | 'month';
    limit: 'maxSteps' | 'maxModelCalls' | 'maxToolCalls' | 'maxRuntimeSeconds' | 'maxInputTokens' | 'maxOutputTokens' | 'maxCost';
    most: number;
    used: number;
    /**
     * Who may answer.
     */
    approvers?: {
        /**
         * A role of each list.
         */
        roles?: Array<Array<string>>;
        fourEyes?: true;
    };
    threadId: string;
} | {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'call';
    toolName: string;
    /**
     * As the model wrote them.
     */
    args?: unknown;
    /**
     * The JSON schema of the `result` of the answer.
     */
    form?: unknown;
    /**
     * The login that the call waits for: the user of the thread opens the `url`, and the `result` has the `code` and `state` (or `error`) that it gives back.
     */
    connect?: {
        server: string;
        url: string;
        state: string;
    };
    threadId: string;
} | {
    id: string;
    /**
     * Microseconds since 1970.
     */
    requestedAt: number;
    kind: 'variables';
    agent: string;
    required: Array<string>;
    missing: Array<string>;
    /**
     * The subagent that starts with the answer.
     */
    child?: string;
    threadId: string;
};

export type Decisions = {
    decisions: Array<RecordedDecision>;
};

export type Answered = {
    child: string | null;
};

export type Answer = {
    approved: boolean;
    reason?: string;
    /**
     * Who decided, where the caller's token names no user.
     */
    by?: string;
    /**
     * With `approved: true`: the call of a tool runs with these. `[redacted]` keeps a value.
     */
    arguments?: {
        [key: string]: unknown;
    };
    /**
     * With `approved: true`: what is the same later is approved, too.
     */
    remember?: {
        for: 'thread' | 'tree' | 'user';
        what?: 'capabilities' | 'arguments';
        /**
         * Milliseconds.
         */
        expiresIn?: number;
    };
    /**
     * For a request about a budget: the new limit. Default: as much again.
     */
    raise?: number;
} | {
    env: {
        [key: string]: string;
    };
} | {
    /**
     * A tool's result: `status`, `result`, `error`, … For an approval of a tool it stands in the place of the call.
     */
    result: {
        [key: string]: unknown;
    };
    by?: string;
};

export type Grants = {
    grants: Array<Grant>;
};

export type OwnedBudgets = {
    budgets: OwnerBudgets;
};

/**
 * Null: none are set.
 */
export type OwnerBudgets = {
    total?: Budget;
    hour?: Budget & unknown;
    day?: Budget;
    month?: Budget;
} | null;

export type NewOwnerBudgets = {
    budgets: OwnerBudgets;
};

export type ThreadBudget = {
    budgets: Array<BudgetState>;
};

export type OwnerPermissions = {
    /**
     * Null: none are set.
     */
    permissions: {
        [key: string]: 'allow' | 'require_approval' | 'deny' | boolean | {
            [key: string]: unknown;
        };
    } | null;
};

export type NewOwnerPermissions = {
    permissions: {
        [key: string]: 'allow' | 'require_approval' | 'deny' | boolean | {
            [key: string]: unknown;
        };
    };
};

export type VariablesRequest = {
    request_id: string;
    parent_thread_id: string;
    agent_name: string;
    required: Array<string>;
    missing: Array<string>;
};

export type VariablesSupplied = {
    request_id: string;
    /**
     * The subagent that starts; null: none.
     */
    child_thread_id: string | null;
    status: 'accepted';
};

export type UiMessagesPage = {
    messages: Array<UiMessage>;
    /**
     * Of the page before; null: there is none.
     */
    before: number | null;
    /**
     * For `after` of the stream.
     */
    cursor: string;
};

export type UiMessage = {
    id: string;
    role: 'user' | 'assistant';
    metadata?: {
        [key: string]: unknown;
    };
    parts: Array<{
        [key: string]: unknown;
    }>;
};

/**
 * A chunk of the UI message stream of the AI SDK, as JSON, and [DONE] at the end.
 */
export type UiMessageFrame = {
    data: string;
};

export type UiMessagesRequest = {
    /**
     * Of the chat; not read.
     */
    id?: string;
    messages: Array<{
        [key: string]: unknown;
    }>;
    trigger?: 'submit-message' | 'regenerate-message';
    messageId?: string;
    /**
     * As of a message. Default: a run of its own.
     */
    deliver?: 'next_step' | 'next_turn' | 'preempt' | 'reject';
    [key: string]: unknown;
};

export type CreatedWebhook = Webhook & {
    /**
     * For the signatures. It is shown this once.
     */
    secret: string;
};

export type Webhook = {
    id: string;
    url: string;
    /**
     * Null: it gets events of all accounts.
     */
    account: string | null;
    /**
     * The root of the only tree whose events it gets.
     */
    threadId: string | null;
    /**
     * Null: all.
     */
    types: Array<string> | null;
    /**
     * active, failing (it is tried again), paused.
     */
    state: string;
    /**
     * Why the last attempt failed.
     */
    error: string | null;
    /**
     * Failed attempts since the last success.
     */
    attempts: number;
    /**
     * Microseconds since 1970.
     */
    failingSince: number | null;
    /**
     * Microseconds since 1970.
     */
    nextAttemptAt: number | null;
    /**
     * Microseconds since 1970.
     */
    createdAt: number;
};

export type NewWebhook = {
    /**
     * https, on the public internet.
     */
    url: string;
    /**
     * For operators. An account gets its own events only.
     */
    account?: string;
    /**
     * The root of a tree: only its events.
     */
    threadId?: string;
    /**
     * Only events of these types; `run.*` stands for all that begin so.
     */
    types?: Array<string>;
};

export type Webhooks = {
    webhooks: Array<Webhook>;
};

export type WebhookChange = {
    /**
     * https, on the public internet.
     */
    url?: string;
    /**
     * Only events of these types; `run.*` stands for all that begin so.
     */
    types?: Array<string> | null;
    state?: 'active' | 'paused';
};

export type Redelivery = {
    /**
     * As it was posted.
     */
    eventId: string;
};

/**
 * `data` is one event as JSON.
 */
export type AgUiFrame = {
    id: string;
    event: string;
    data: string;
};

/**
 * `RunAgentInput` of AG-UI 1.0.
 */
export type AgUiRunInput = {
    threadId: string;
    runId: string;
    protocolVersion?: string;
    parentRunId?: string;
    messages: Array<{
        id: string;
        role: string;
        content?: unknown;
        [key: string]: unknown;
    }>;
    resume?: Array<AgUiResume>;
    tools?: Array<{
        name: string;
        [key: string]: unknown;
    }>;
    context?: Array<unknown>;
    /**
     * `{ deliver }`: as for a message of this API. Everything else is ignored.
     */
    forwardedProps?: unknown;
    [key: string]: unknown;
};

export type AgUiResume = {
    interruptId: string;
    status: 'resolved' | 'cancelled';
    payload?: unknown;
    [key: string]: unknown;
};

export type GetHealthData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/health';
};

export type GetHealthResponses = {
    /**
     * The process answers.
     */
    200: Health;
};

export type GetReadinessData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/ready';
};

export type GetReadinessResponses = {
    /**
     * Both answer.
     */
    200: Readiness;
};

export type ClaimToolCallData = {
    body: ToolCallClaimRequest;
    path: {
        /**
         * From the input of the activity.
         */
        threadId: string;
        /**
         * From the input of the activity.
         */
        callId: string;
    };
    query?: never;
    url: '/tool-calls/{threadId}/{callId}/claim';
};

export type ClaimToolCallResponses = {
    /**
     * The call is yours.
     */
    200: ToolCallClaim;
};

export type ReadToolCallFileData = {
    body?: never;
    path: {
        /**
         * From the input of the activity.
         */
        threadId: string;
        /**
         * From the input of the activity.
         */
        callId: string;
    };
    query: {
        /**
         * Absolute in the thread.
         */
        path: string;
    };
    url: '/tool-calls/{threadId}/{callId}/files';
};

export type ReadToolCallFileResponses = {
    /**
     * Its bytes.
     */
    200: Blob | File;
};

export type WriteToolCallFileData = {
    body: Blob | File;
    path: {
        /**
         * From the input of the activity.
         */
        threadId: string;
        /**
         * From the input of the activity.
         */
        callId: string;
    };
    query: {
        /**
         * Absolute in the thread.
         */
        path: string;
    };
    url: '/tool-calls/{threadId}/{callId}/files';
};

export type WriteToolCallFileResponses = {
    /**
     * Kept for the call.
     */
    200: ToolCallFile;
};

export type AnswerToolCallData = {
    body: ToolCallResult;
    path: {
        /**
         * From the input of the activity.
         */
        threadId: string;
        /**
         * From the input of the activity.
         */
        callId: string;
    };
    query?: never;
    url: '/tool-calls/{threadId}/{callId}/result';
};

export type AnswerToolCallResponses = {
    /**
     * Stored. End the activity.
     */
    200: ToolCallAccepted;
};

export type ListAgentsData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/agents';
};

export type ListAgentsResponses = {
    /**
     * All of them.
     */
    200: Agents;
};

export type ListThreadsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * `next` of the page before.
         */
        cursor?: string;
        limit?: number;
        agent?: string;
        userId?: string;
        /**
         * Threads that this one started; "none": root threads.
         */
        parent?: string;
        /**
         * All threads of its tree, itself included.
         */
        root?: string;
        tag?: string;
        /**
         * A text in the title, the id, the agent or the user, whatever its case.
         */
        search?: string;
        /**
         * For operators.
         */
        account?: string;
        status?: string;
    };
    url: '/threads';
};

export type ListThreadsResponses = {
    /**
     * A page.
     */
    200: ThreadsPage;
};

export type CreateThreadData = {
    body: NewThread;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path?: never;
    query?: never;
    url: '/threads';
};

export type CreateThreadResponses = {
    /**
     * The thread exists, and its message is accepted.
     */
    201: Thread;
};

export type CountThreadsData = {
    body?: never;
    path?: never;
    query?: {
        agent?: string;
        userId?: string;
        /**
         * Threads that this one started; "none": root threads.
         */
        parent?: string;
        /**
         * All threads of its tree, itself included.
         */
        root?: string;
        tag?: string;
        /**
         * A text in the title, the id, the agent or the user, whatever its case.
         */
        search?: string;
        /**
         * For operators.
         */
        account?: string;
    };
    url: '/thread-counts';
};

export type CountThreadsResponses = {
    /**
     * The counts at one moment.
     */
    200: ThreadCounts;
};

export type DeleteThreadData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * True: terminates open threads first; otherwise those answer 409.
         */
        terminate?: 'true' | 'false';
    };
    url: '/threads/{threadId}';
};

export type DeleteThreadResponses = {
    /**
     * Deleted.
     */
    200: Deleted;
};

export type GetThreadData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}';
};

export type GetThreadResponses = {
    /**
     * The thread.
     */
    200: Thread;
};

export type ForkThreadData = {
    body?: NewFork;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/fork';
};

export type ForkThreadResponses = {
    /**
     * The fork exists, and its message is accepted.
     */
    201: Thread;
};

export type ListSessionsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * `next` of the page before.
         */
        cursor?: string;
        limit?: number;
        /**
         * active, idle, completed, failed, abandoned, terminated, escalated or archived.
         */
        state?: string;
        tag?: string;
        agent?: string;
        userId?: string;
        /**
         * A text in the title, the id, the agent or the user, whatever its case.
         */
        search?: string;
        /**
         * For operators.
         */
        account?: string;
    };
    url: '/sessions';
};

export type ListSessionsResponses = {
    /**
     * A page.
     */
    200: SessionsPage;
};

export type PurgeSessionData = {
    body?: never;
    path: {
        /**
         * The id of its root thread. A session of another account is not found.
         */
        sessionId: string;
    };
    query?: {
        /**
         * True: terminates open threads first; otherwise those answer 409.
         */
        terminate?: 'true' | 'false';
    };
    url: '/sessions/{sessionId}';
};

export type PurgeSessionResponses = {
    /**
     * Deleted.
     */
    200: Deleted;
};

export type GetSessionData = {
    body?: never;
    path: {
        /**
         * The id of its root thread. A session of another account is not found.
         */
        sessionId: string;
    };
    query?: {
        /**
         * True: with what all of its threads have used.
         */
        usage?: 'true' | 'false';
    };
    url: '/sessions/{sessionId}';
};

export type GetSessionResponses = {
    /**
     * The session.
     */
    200: Session;
};

export type UpdateSessionData = {
    body?: SessionChanges;
    path: {
        /**
         * The id of its root thread. A session of another account is not found.
         */
        sessionId: string;
    };
    query?: never;
    url: '/sessions/{sessionId}';
};

export type UpdateSessionResponses = {
    /**
     * What it is now.
     */
    200: SessionSummary;
};

export type EscalateSessionData = {
    body?: {
        /**
         * A person or a queue of yours.
         */
        to?: string;
        reason?: string;
    };
    path: {
        /**
         * The id of its root thread. A session of another account is not found.
         */
        sessionId: string;
    };
    query?: never;
    url: '/sessions/{sessionId}/escalate';
};

export type EscalateSessionResponses = {
    /**
     * What it is now.
     */
    200: SessionSummary;
};

export type ArchiveSessionData = {
    body?: never;
    path: {
        /**
         * The id of its root thread. A session of another account is not found.
         */
        sessionId: string;
    };
    query?: never;
    url: '/sessions/{sessionId}/archive';
};

export type ArchiveSessionResponses = {
    /**
     * What it is now.
     */
    200: SessionSummary;
};

export type UnarchiveSessionData = {
    body?: never;
    path: {
        /**
         * The id of its root thread. A session of another account is not found.
         */
        sessionId: string;
    };
    query?: never;
    url: '/sessions/{sessionId}/unarchive';
};

export type UnarchiveSessionResponses = {
    /**
     * What it is now.
     */
    200: SessionSummary;
};

export type ResolveSessionData = {
    body?: never;
    path: {
        /**
         * The id of its root thread. A session of another account is not found.
         */
        sessionId: string;
    };
    query?: never;
    url: '/sessions/{sessionId}/resolve';
};

export type ResolveSessionResponses = {
    /**
     * What it is now.
     */
    200: SessionSummary;
};

export type ListMessagesData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        limit?: number;
        /**
         * The newest messages below this position.
         */
        before?: number;
        /**
         * The first messages above this position.
         */
        after?: number;
        includeSilent?: 'true' | 'false';
        maxDepth?: number;
    };
    url: '/threads/{threadId}/messages';
};

export type ListMessagesResponses = {
    /**
     * A page.
     */
    200: MessagesPage;
};

export type SendMessageData = {
    body: NewMessage;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/messages';
};

export type SendMessageResponses = {
    /**
     * Accepted.
     */
    202: SentMessage;
};

export type ReadMessageData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        messageId: string;
    };
    query?: never;
    url: '/threads/{threadId}/messages/{messageId}';
};

export type ReadMessageResponses = {
    /**
     * The message.
     */
    200: MessageRead;
};

export type QueueToolData = {
    body: NewToolCall;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/calls';
};

export type QueueToolResponses = {
    /**
     * Accepted.
     */
    202: QueuedToolCall;
};

export type ReadToolCallData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        toolCallId: string;
    };
    query?: never;
    url: '/threads/{threadId}/calls/{toolCallId}';
};

export type ReadToolCallResponses = {
    /**
     * The call.
     */
    200: ToolCallRead;
};

export type GetRunData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        runId: string;
    };
    query?: never;
    url: '/threads/{threadId}/runs/{runId}';
};

export type GetRunResponses = {
    /**
     * The result; without a `reason` the run goes on.
     */
    200: RunResult;
};

export type WaitForResultData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * At most so long; else 10.
         */
        seconds?: number;
        /**
         * True: also until all threads below it are idle or closed.
         */
        children?: 'true' | 'false';
    };
    url: '/threads/{threadId}/result';
};

export type WaitForResultResponses = {
    /**
     * The result, or why there is none yet: ask again.
     */
    200: Waited;
};

export type StopThreadData = {
    body?: {
        /**
         * Stops only this run; another one goes on.
         */
        runId?: string;
        /**
         * False: subagents that the run waits for go on.
         */
        children?: boolean;
        /**
         * For people: it is in the event of the end of the run.
         */
        reason?: string;
        /**
         * Clear: queued messages and tools are removed.
         */
        queue?: 'keep' | 'clear';
    };
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/stop';
};

export type StopThreadResponses = {
    /**
     * Accepted, or nothing to do.
     */
    200: Stopped;
};

export type ContinueThreadData = {
    body?: never;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/continue';
};

export type ContinueThreadResponses = {
    /**
     * Accepted.
     */
    202: unknown;
};

export type CompactThreadData = {
    body?: {
        /**
         * What the summary must keep.
         */
        focus?: string;
        side?: 'a' | 'b';
    };
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/compact';
};

export type CompactThreadResponses = {
    /**
     * Requested, or one is requested already.
     */
    200: CompactionRequested;
};

export type TerminateThreadData = {
    body?: {
        reason?: string;
    };
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/terminate';
};

export type TerminateThreadResponses = {
    /**
     * Accepted.
     */
    202: unknown;
};

export type RemoveQueuedData = {
    body?: never;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        itemId: string;
    };
    query?: never;
    url: '/threads/{threadId}/queue/{itemId}';
};

export type RemoveQueuedResponses = {
    /**
     * Removed: it will not run.
     */
    204: void;
};

export type PromoteQueuedData = {
    body?: never;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        itemId: string;
    };
    query?: never;
    url: '/threads/{threadId}/queue/{itemId}/promote';
};

export type PromoteQueuedResponses = {
    /**
     * Moved.
     */
    204: void;
};

export type CancelMessageData = {
    body?: {
        reason?: string;
    };
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        messageId: string;
    };
    query?: never;
    url: '/threads/{threadId}/messages/{messageId}/cancel';
};

export type CancelMessageResponses = {
    /**
     * Cancelled. A message that has ended answers 409.
     */
    200: Cancelled;
};

export type ListErrorsData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * Only the error with this id.
         */
        id?: string;
        limit?: number;
    };
    url: '/threads/{threadId}/errors';
};

export type ListErrorsResponses = {
    /**
     * The errors.
     */
    200: RecordedErrors;
};

export type FollowEventsData = {
    body?: never;
    headers?: {
        /**
         * The last id that was read; overrides `after`.
         */
        'last-event-id'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * A token of this thread, where no header can be sent: `EventSource`, images.
         */
        access_token?: string;
        /**
         * The `cursor` of an event, or a sequence: events come from the next one on.
         */
        after?: string;
        /**
         * False: the stream ends with the last event that is stored.
         */
        follow?: 'true' | 'false';
        /**
         * In the words of another runtime: AgentRuntimeEvent, KoreEvent, RunEvent, TaskEvent or OpenTelemetryRecord in `data`. One event may be several there; ids are cursors all the same.
         */
        view?: 'ar' | 'kp' | 'pl' | 'pl_task' | 'otel';
        /**
         * True, for the root of a tree: the stored events of all its threads in one order, without the text that streams.
         */
        tree?: 'true' | 'false';
        /**
         * True: the first event is `snapshot.updated`, with the state of the thread. Where the cursor leads nowhere any more, its `mode` is `repair`, and there is no error.
         */
        snapshot?: 'true' | 'false';
    };
    url: '/threads/{threadId}/events';
};

export type FollowEventsResponses = {
    /**
     * The events.
     */
    200: EventFrame;
    /**
     * The thread is closed, and its last event was read.
     */
    204: void;
};

export type GetSnapshotData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/snapshot';
};

export type GetSnapshotResponses = {
    /**
     * The state at one moment.
     */
    200: Snapshot;
};

export type GetTreeData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/tree';
};

export type GetTreeResponses = {
    /**
     * The thread.
     */
    200: Tree;
};

export type GetToolsData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/tools';
};

export type GetToolsResponses = {
    /**
     * The tools at one moment.
     */
    200: ThreadTools;
};

export type GetThreadPermissionsData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/permissions';
};

export type GetThreadPermissionsResponses = {
    /**
     * The permissions at one moment.
     */
    200: PermissionSummary;
};

export type GetRunContextData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        runId: string;
    };
    query?: never;
    url: '/threads/{threadId}/runs/{runId}/context';
};

export type GetRunContextResponses = {
    /**
     * The context at one moment.
     */
    200: RunContext;
};

export type GetRoutingData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/routing';
};

export type GetRoutingResponses = {
    /**
     * The routing at one moment.
     */
    200: RoutingSummary;
};

export type GetUsageData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * True: with all threads below it.
         */
        tree?: 'true' | 'false';
    };
    url: '/threads/{threadId}/usage';
};

export type GetUsageResponses = {
    /**
     * Sums over its rows.
     */
    200: ThreadUsage;
};

export type GetCapabilitiesData = {
    body?: never;
    path?: never;
    query?: never;
    url: '/capabilities';
};

export type GetCapabilitiesResponses = {
    /**
     * The same for all callers.
     */
    200: Capabilities;
};

export type GetQueueData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        limit?: number;
    };
    url: '/threads/{threadId}/queue';
};

export type GetQueueResponses = {
    /**
     * The queue at one moment.
     */
    200: Queue;
};

export type ListChildrenData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * `next` of the page before.
         */
        cursor?: string;
        limit?: number;
    };
    url: '/threads/{threadId}/children';
};

export type ListChildrenResponses = {
    /**
     * One page.
     */
    200: ChildrenPage;
};

export type ListBoundariesData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        limit?: number;
    };
    url: '/threads/{threadId}/boundaries';
};

export type ListBoundariesResponses = {
    /**
     * The newest cuts.
     */
    200: ContextBoundaries;
};

export type GetArtifactsData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        limit?: number;
    };
    url: '/threads/{threadId}/artifacts';
};

export type GetArtifactsResponses = {
    /**
     * The files at one moment.
     */
    200: Artifacts;
};

export type GetDiagnosticsData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/diagnostics';
};

export type GetDiagnosticsResponses = {
    /**
     * The diagnostics at one moment.
     */
    200: Diagnostics;
};

export type GetReadModelData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/read-model';
};

export type GetReadModelResponses = {
    /**
     * The state at one moment.
     */
    200: ReadModel;
};

export type ListFilesData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * A folder; the root folder if left out.
         */
        path?: string;
    };
    url: '/threads/{threadId}/files';
};

export type ListFilesResponses = {
    /**
     * Ordered by name.
     */
    200: Folder;
};

export type DeleteFileData = {
    body?: never;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query: {
        /**
         * Absolute: /notes/plan.md.
         */
        path: string;
    };
    url: '/threads/{threadId}/files/content';
};

export type DeleteFileResponses = {
    /**
     * There is no such file any more.
     */
    204: void;
};

export type DownloadFileData = {
    body?: never;
    headers?: {
        /**
         * bytes=0-99, bytes=100-, bytes=-100; one range.
         */
        range?: string;
        /**
         * The ETag of the earlier parts: a file with another one comes whole.
         */
        'if-range'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query: {
        /**
         * A token of this thread, where no header can be sent: `EventSource`, images.
         */
        access_token?: string;
        /**
         * Absolute: /notes/plan.md.
         */
        path: string;
    };
    url: '/threads/{threadId}/files/content';
};

export type DownloadFileResponses = {
    /**
     * The whole file, in its own type.
     */
    200: Blob | File;
    /**
     * The range, in its own type.
     */
    206: Blob | File;
};

export type UploadFileData = {
    body?: Blob | File;
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query: {
        /**
         * Absolute: /notes/plan.md.
         */
        path: string;
    };
    url: '/threads/{threadId}/files/content';
};

export type UploadFileResponses = {
    /**
     * Written.
     */
    200: File;
};

export type ListRequestsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * `next` of the page before.
         */
        cursor?: string;
        limit?: number;
        agent?: string;
        userId?: string;
        threadId?: string;
        /**
         * Those of all threads of its tree, its own included.
         */
        root?: string;
        /**
         * For operators.
         */
        account?: string;
    };
    url: '/requests';
};

export type ListRequestsResponses = {
    /**
     * A page.
     */
    200: RequestsPage;
};

export type GetRequestData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        requestId: string;
    };
    query?: never;
    url: '/threads/{threadId}/requests/{requestId}';
};

export type GetRequestResponses = {
    /**
     * The pending request.
     */
    200: PendingRequest;
};

export type AnswerRequestData = {
    body: Answer;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        requestId: string;
    };
    query?: never;
    url: '/threads/{threadId}/requests/{requestId}';
};

export type AnswerRequestResponses = {
    /**
     * The answer is accepted.
     */
    200: Answered;
};

export type ListDecisionsData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * Only that about this call.
         */
        toolCallId?: string;
        limit?: number;
    };
    url: '/threads/{threadId}/decisions';
};

export type ListDecisionsResponses = {
    /**
     * The decisions.
     */
    200: Decisions;
};

export type ListGrantsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * The last id of the page before.
         */
        after?: string;
        limit?: number;
        userId?: string;
        /**
         * For operators.
         */
        account?: string;
    };
    url: '/grants';
};

export type ListGrantsResponses = {
    /**
     * A page.
     */
    200: Grants;
};

export type ListThreadGrantsData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * The last id of the page before.
         */
        after?: string;
        limit?: number;
    };
    url: '/threads/{threadId}/grants';
};

export type ListThreadGrantsResponses = {
    /**
     * A page.
     */
    200: Grants;
};

export type RevokeGrantData = {
    body?: never;
    path: {
        grantId: string;
    };
    query?: never;
    url: '/grants/{grantId}';
};

export type RevokeGrantResponses = {
    /**
     * It is revoked.
     */
    204: void;
};

export type RemoveBudgetsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Alone: all threads of the account.
         */
        account?: string;
        /**
         * The threads of this user in the account; without `account`, in threads without one.
         */
        userId?: string;
    };
    url: '/budgets';
};

export type RemoveBudgetsResponses = {
    /**
     * There are none any more.
     */
    204: void;
};

export type GetBudgetsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Alone: all threads of the account.
         */
        account?: string;
        /**
         * The threads of this user in the account; without `account`, in threads without one.
         */
        userId?: string;
    };
    url: '/budgets';
};

export type GetBudgetsResponses = {
    /**
     * The budgets.
     */
    200: OwnedBudgets;
};

export type SetBudgetsData = {
    body: NewOwnerBudgets;
    path?: never;
    query?: {
        /**
         * Alone: all threads of the account.
         */
        account?: string;
        /**
         * The threads of this user in the account; without `account`, in threads without one.
         */
        userId?: string;
    };
    url: '/budgets';
};

export type SetBudgetsResponses = {
    /**
     * They hold for the next call.
     */
    204: void;
};

export type GetThreadBudgetData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/budget';
};

export type GetThreadBudgetResponses = {
    /**
     * The budgets, from the widest subject to the narrowest.
     */
    200: ThreadBudget;
};

export type RemovePermissionsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Alone: all threads of the account.
         */
        account?: string;
        /**
         * The threads of this user in the account; without `account`, in threads without one.
         */
        userId?: string;
    };
    url: '/permissions';
};

export type RemovePermissionsResponses = {
    /**
     * There are none any more.
     */
    204: void;
};

export type GetPermissionsData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Alone: all threads of the account.
         */
        account?: string;
        /**
         * The threads of this user in the account; without `account`, in threads without one.
         */
        userId?: string;
    };
    url: '/permissions';
};

export type GetPermissionsResponses = {
    /**
     * The rules.
     */
    200: OwnerPermissions;
};

export type SetPermissionsData = {
    body: NewOwnerPermissions;
    path?: never;
    query?: {
        /**
         * Alone: all threads of the account.
         */
        account?: string;
        /**
         * The threads of this user in the account; without `account`, in threads without one.
         */
        userId?: string;
    };
    url: '/permissions';
};

export type SetPermissionsResponses = {
    /**
     * They hold for the next call.
     */
    204: void;
};

export type SetVariablesData = {
    body: {
        /**
         * Values by name. They cannot be read back.
         */
        env: {
            [key: string]: string;
        };
    };
    headers?: {
        /**
         * Idempotency key: a request that is repeated with the same key is carried out once.
         */
        'idempotency-key'?: string;
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/variables';
};

export type SetVariablesResponses = {
    /**
     * Stored.
     */
    204: void;
};

export type GetVariablesRequestData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        requestId: string;
    };
    query?: never;
    url: '/threads/{threadId}/variables/{requestId}';
};

export type GetVariablesRequestResponses = {
    /**
     * The pending request.
     */
    200: VariablesRequest;
};

export type SupplyVariablesData = {
    body: {
        /**
         * Values by name. They cannot be read back.
         */
        env: {
            [key: string]: string;
        };
    };
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        requestId: string;
    };
    query?: never;
    url: '/threads/{threadId}/variables/{requestId}';
};

export type SupplyVariablesResponses = {
    /**
     * Stored. Repeating the same values is no error.
     */
    200: VariablesSupplied;
};

export type ListUiMessagesData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * Rows of the transcript; runs are never cut.
         */
        limit?: number;
        /**
         * `before` of the page behind.
         */
        before?: number;
    };
    url: '/threads/{threadId}/ui-messages';
};

export type ListUiMessagesResponses = {
    /**
     * A page.
     */
    200: UiMessagesPage;
};

export type SendUiMessagesData = {
    body: UiMessagesRequest;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/ui-messages';
};

export type SendUiMessagesResponses = {
    /**
     * The stream.
     */
    200: UiMessageFrame;
};

export type ResumeUiMessagesData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: {
        /**
         * `cursor` of the transcript: a message that has ended since is told, too.
         */
        after?: string;
    };
    url: '/threads/{threadId}/ui-messages/stream';
};

export type ResumeUiMessagesResponses = {
    /**
     * The stream.
     */
    200: UiMessageFrame;
    /**
     * No message is under way, and none has ended since.
     */
    204: void;
};

export type ListWebhooksData = {
    body?: never;
    path?: never;
    query?: {
        /**
         * Only those with a later id.
         */
        after?: string;
        limit?: number;
    };
    url: '/webhooks';
};

export type ListWebhooksResponses = {
    /**
     * A page.
     */
    200: Webhooks;
};

export type CreateWebhookData = {
    body: NewWebhook;
    path?: never;
    query?: never;
    url: '/webhooks';
};

export type CreateWebhookResponses = {
    /**
     * It is made.
     */
    201: CreatedWebhook;
};

export type DeleteWebhookData = {
    body?: never;
    path: {
        webhookId: string;
    };
    query?: never;
    url: '/webhooks/{webhookId}';
};

export type DeleteWebhookResponses = {
    /**
     * It is deleted.
     */
    204: void;
};

export type GetWebhookData = {
    body?: never;
    path: {
        webhookId: string;
    };
    query?: never;
    url: '/webhooks/{webhookId}';
};

export type GetWebhookResponses = {
    /**
     * The webhook.
     */
    200: Webhook;
};

export type UpdateWebhookData = {
    body: WebhookChange;
    path: {
        webhookId: string;
    };
    query?: never;
    url: '/webhooks/{webhookId}';
};

export type UpdateWebhookResponses = {
    /**
     * The webhook.
     */
    200: Webhook;
};

export type RedeliverWebhookData = {
    body: Redelivery;
    path: {
        webhookId: string;
    };
    query?: never;
    url: '/webhooks/{webhookId}/redeliver';
};

export type RedeliverWebhookResponses = {
    /**
     * The webhook.
     */
    200: Webhook;
};

export type RunAgUiAgentData = {
    body: AgUiRunInput;
    path: {
        agent: string;
    };
    query?: never;
    url: '/ag-ui/{agent}';
};

export type RunAgUiAgentResponses = {
    /**
     * Events of AG-UI 1.0, until the end of the run; `id` is a cursor of the thread.
     */
    200: AgUiFrame;
};

export type RunAgUiThreadData = {
    body: AgUiRunInput;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
    };
    query?: never;
    url: '/threads/{threadId}/ag-ui';
};

export type RunAgUiThreadResponses = {
    /**
     * Events of AG-UI 1.0, until the end of the run; `id` is a cursor of the thread.
     */
    200: AgUiFrame;
};

export type JoinAgUiRunData = {
    body?: never;
    path: {
        /**
         * A thread of another account is not found.
         */
        threadId: string;
        runId: string;
    };
    query?: {
        /**
         * The last `id` that was read: the run that was under way there.
         */
        after?: string;
    };
    url: '/threads/{threadId}/ag-ui/runs/{runId}';
};

export type JoinAgUiRunResponses = {
    /**
     * Events of AG-UI 1.0, until the end of the run; `id` is a cursor of the thread.
     */
    200: AgUiFrame;
};


/** What each route takes and answers. */
export interface Paths {
    '/health': {
        get: { input: GetHealthData; output: GetHealthResponses[keyof GetHealthResponses] };
    };
    '/ready': {
        get: { input: GetReadinessData; output: GetReadinessResponses[keyof GetReadinessResponses] };
    };
    '/tool-calls/{threadId}/{callId}/claim': {
        post: { input: ClaimToolCallData; output: ClaimToolCallResponses[keyof ClaimToolCallResponses] };
    };
    '/tool-calls/{threadId}/{callId}/files': {
        get: { input: ReadToolCallFileData; output: ReadToolCallFileResponses[keyof ReadToolCallFileResponses] };
        put: { input: WriteToolCallFileData; output: WriteToolCallFileResponses[keyof WriteToolCallFileResponses] };
    };
    '/tool-calls/{threadId}/{callId}/result': {
        post: { input: AnswerToolCallData; output: AnswerToolCallResponses[keyof AnswerToolCallResponses] };
    };
    '/agents': {
        get: { input: ListAgentsData; output: ListAgentsResponses[keyof ListAgentsResponses] };
    };
    '/threads': {
        get: { input: ListThreadsData; output: ListThreadsResponses[keyof ListThreadsResponses] };
        post: { input: CreateThreadData; output: CreateThreadResponses[keyof CreateThreadResponses] };
    };
    '/thread-counts': {
        get: { input: CountThreadsData; output: CountThreadsResponses[keyof CountThreadsResponses] };
    };
    '/threads/{threadId}': {
        get: { input: GetThreadData; output: GetThreadResponses[keyof GetThreadResponses] };
        delete: { input: DeleteThreadData; output: DeleteThreadResponses[keyof DeleteThreadResponses] };
    };
    '/threads/{threadId}/fork': {
        post: { input: ForkThreadData; output: ForkThreadResponses[keyof ForkThreadResponses] };
    };
    '/sessions': {
        get: { input: ListSessionsData; output: ListSessionsResponses[keyof ListSessionsResponses] };
    };
    '/sessions/{sessionId}': {
        get: { input: GetSessionData; output: GetSessionResponses[keyof GetSessionResponses] };
        patch: { input: UpdateSessionData; output: UpdateSessionResponses[keyof UpdateSessionResponses] };
        delete: { input: PurgeSessionData; output: PurgeSessionResponses[keyof PurgeSessionResponses] };
    };
    '/sessions/{sessionId}/escalate': {
        post: { input: EscalateSessionData; output: EscalateSessionResponses[keyof EscalateSessionResponses] };
    };
    '/sessions/{sessionId}/archive': {
        post: { input: ArchiveSessionData; output: ArchiveSessionResponses[keyof ArchiveSessionResponses] };
    };
    '/sessions/{sessionId}/unarchive': {
        post: { input: UnarchiveSessionData; output: UnarchiveSessionResponses[keyof UnarchiveSessionResponses] };
    };
    '/sessions/{sessionId}/resolve': {
        post: { input: ResolveSessionData; output: ResolveSessionResponses[keyof ResolveSessionResponses] };
    };
    '/threads/{threadId}/messages': {
        get: { input: ListMessagesData; output: ListMessagesResponses[keyof ListMessagesResponses] };
        post: { input: SendMessageData; output: SendMessageResponses[keyof SendMessageResponses] };
    };
    '/threads/{threadId}/messages/{messageId}': {
        get: { input: ReadMessageData; output: ReadMessageResponses[keyof ReadMessageResponses] };
    };
    '/threads/{threadId}/calls': {
        post: { input: QueueToolData; output: QueueToolResponses[keyof QueueToolResponses] };
    };
    '/threads/{threadId}/calls/{toolCallId}': {
        get: { input: ReadToolCallData; output: ReadToolCallResponses[keyof ReadToolCallResponses] };
    };
    '/threads/{threadId}/runs/{runId}': {
        get: { input: GetRunData; output: GetRunResponses[keyof GetRunResponses] };
    };
    '/threads/{threadId}/result': {
        get: { input: WaitForResultData; output: WaitForResultResponses[keyof WaitForResultResponses] };
    };
    '/threads/{threadId}/stop': {
        post: { input: StopThreadData; output: StopThreadResponses[keyof StopThreadResponses] };
    };
    '/threads/{threadId}/continue': {
        post: { input: ContinueThreadData; output: ContinueThreadResponses[keyof ContinueThreadResponses] };
    };
    '/threads/{threadId}/compact': {
        post: { input: CompactThreadData; output: CompactThreadResponses[keyof CompactThreadResponses] };
    };
    '/threads/{threadId}/terminate': {
        post: { input: TerminateThreadData; output: TerminateThreadResponses[keyof TerminateThreadResponses] };
    };
    '/threads/{threadId}/queue/{itemId}': {
        delete: { input: RemoveQueuedData; output: RemoveQueuedResponses[keyof RemoveQueuedResponses] };
    };
    '/threads/{threadId}/queue/{itemId}/promote': {
        post: { input: PromoteQueuedData; output: PromoteQueuedResponses[keyof PromoteQueuedResponses] };
    };
    '/threads/{threadId}/messages/{messageId}/cancel': {
        post: { input: CancelMessageData; output: CancelMessageResponses[keyof CancelMessageResponses] };
    };
    '/threads/{threadId}/errors': {
        get: { input: ListErrorsData; output: ListErrorsResponses[keyof ListErrorsResponses] };
    };
    '/threads/{threadId}/events': {
        get: { input: FollowEventsData; output: FollowEventsResponses[keyof FollowEventsResponses] };
    };
    '/threads/{threadId}/snapshot': {
        get: { input: GetSnapshotData; output: GetSnapshotResponses[keyof GetSnapshotResponses] };
    };
    '/threads/{threadId}/tree': {
        get: { input: GetTreeData; output: GetTreeResponses[keyof GetTreeResponses] };
    };
    '/threads/{threadId}/tools': {
        get: { input: GetToolsData; output: GetToolsResponses[keyof GetToolsResponses] };
    };
    '/threads/{threadId}/permissions': {
        get: { input: GetThreadPermissionsData; output: GetThreadPermissionsResponses[keyof GetThreadPermissionsResponses] };
    };
    '/threads/{threadId}/runs/{runId}/context': {
        get: { input: GetRunContextData; output: GetRunContextResponses[keyof GetRunContextResponses] };
    };
    '/threads/{threadId}/routing': {
        get: { input: GetRoutingData; output: GetRoutingResponses[keyof GetRoutingResponses] };
    };
    '/threads/{threadId}/usage': {
        get: { input: GetUsageData; output: GetUsageResponses[keyof GetUsageResponses] };
    };
    '/capabilities': {
        get: { input: GetCapabilitiesData; output: GetCapabilitiesResponses[keyof GetCapabilitiesResponses] };
    };
    '/threads/{threadId}/queue': {
        get: { input: GetQueueData; output: GetQueueResponses[keyof GetQueueResponses] };
    };
    '/threads/{threadId}/children': {
        get: { input: ListChildrenData; output: ListChildrenResponses[keyof ListChildrenResponses] };
    };
    '/threads/{threadId}/boundaries': {
        get: { input: ListBoundariesData; output: ListBoundariesResponses[keyof ListBoundariesResponses] };
    };
    '/threads/{threadId}/artifacts': {
        get: { input: GetArtifactsData; output: GetArtifactsResponses[keyof GetArtifactsResponses] };
    };
    '/threads/{threadId}/diagnostics': {
        get: { input: GetDiagnosticsData; output: GetDiagnosticsResponses[keyof GetDiagnosticsResponses] };
    };
    '/threads/{threadId}/read-model': {
        get: { input: GetReadModelData; output: GetReadModelResponses[keyof GetReadModelResponses] };
    };
    '/threads/{threadId}/files': {
        get: { input: ListFilesData; output: ListFilesResponses[keyof ListFilesResponses] };
    };
    '/threads/{threadId}/files/content': {
        get: { input: DownloadFileData; output: DownloadFileResponses[keyof DownloadFileResponses] };
        put: { input: UploadFileData; output: UploadFileResponses[keyof UploadFileResponses] };
        delete: { input: DeleteFileData; output: DeleteFileResponses[keyof DeleteFileResponses] };
    };
    '/requests': {
        get: { input: ListRequestsData; output: ListRequestsResponses[keyof ListRequestsResponses] };
    };
    '/threads/{threadId}/requests/{requestId}': {
        get: { input: GetRequestData; output: GetRequestResponses[keyof GetRequestResponses] };
        post: { input: AnswerRequestData; output: AnswerRequestResponses[keyof AnswerRequestResponses] };
    };
    '/threads/{threadId}/decisions': {
        get: { input: ListDecisionsData; output: ListDecisionsResponses[keyof ListDecisionsResponses] };
    };
    '/grants': {
        get: { input: ListGrantsData; output: ListGrantsResponses[keyof ListGrantsResponses] };
    };
    '/threads/{threadId}/grants': {
        get: { input: ListThreadGrantsData; output: ListThreadGrantsResponses[keyof ListThreadGrantsResponses] };
    };
    '/grants/{grantId}': {
        delete: { input: RevokeGrantData; output: RevokeGrantResponses[keyof RevokeGrantResponses] };
    };
    '/budgets': {
        get: { input: GetBudgetsData; output: GetBudgetsResponses[keyof GetBudgetsResponses] };
        put: { input: SetBudgetsData; output: SetBudgetsResponses[keyof SetBudgetsResponses] };
        delete: { input: RemoveBudgetsData; output: RemoveBudgetsResponses[keyof RemoveBudgetsResponses] };
    };
    '/threads/{threadId}/budget': {
        get: { input: GetThreadBudgetData; output: GetThreadBudgetResponses[keyof GetThreadBudgetResponses] };
    };
    '/permissions': {
        get: { input: GetPermissionsData; output: GetPermissionsResponses[keyof GetPermissionsResponses] };
        put: { input: SetPermissionsData; output: SetPermissionsResponses[keyof SetPermissionsResponses] };
        delete: { input: RemovePermissionsData; output: RemovePermissionsResponses[keyof RemovePermissionsResponses] };
    };
    '/threads/{threadId}/variables': {
        put: { input: SetVariablesData; output: SetVariablesResponses[keyof SetVariablesResponses] };
    };
    '/threads/{threadId}/variables/{requestId}': {
        get: { input: GetVariablesRequestData; output: GetVariablesRequestResponses[keyof GetVariablesRequestResponses] };
        post: { input: SupplyVariablesData; output: SupplyVariablesResponses[keyof SupplyVariablesResponses] };
    };
    '/threads/{threadId}/ui-messages': {
        get: { input: ListUiMessagesData; output: ListUiMessagesResponses[keyof ListUiMessagesResponses] };
        post: { input: SendUiMessagesData; output: SendUiMessagesResponses[keyof SendUiMessagesResponses] };
    };
    '/threads/{threadId}/ui-messages/stream': {
        get: { input: ResumeUiMessagesData; output: ResumeUiMessagesResponses[keyof ResumeUiMessagesResponses] };
    };
    '/webhooks': {
        get: { input: ListWebhooksData; output: ListWebhooksResponses[keyof ListWebhooksResponses] };
        post: { input: CreateWebhookData; output: CreateWebhookResponses[keyof CreateWebhookResponses] };
    };
    '/webhooks/{webhookId}': {
        get: { input: GetWebhookData; output: GetWebhookResponses[keyof GetWebhookResponses] };
        patch: { input: UpdateWebhookData; output: UpdateWebhookResponses[keyof UpdateWebhookResponses] };
        delete: { input: DeleteWebhookData; output: DeleteWebhookResponses[keyof DeleteWebhookResponses] };
    };
    '/webhooks/{webhookId}/redeliver': {
        post: { input: RedeliverWebhookData; output: RedeliverWebhookResponses[keyof RedeliverWebhookResponses] };
    };
    '/ag-ui/{agent}': {
        post: { input: RunAgUiAgentData; output: RunAgUiAgentResponses[keyof RunAgUiAgentResponses] };
    };
    '/threads/{threadId}/ag-ui': {
        post: { input: RunAgUiThreadData; output: RunAgUiThreadResponses[keyof RunAgUiThreadResponses] };
    };
    '/threads/{threadId}/ag-ui/runs/{runId}': {
        get: { input: JoinAgUiRunData; output: JoinAgUiRunResponses[keyof JoinAgUiRunResponses] };
    };
}
