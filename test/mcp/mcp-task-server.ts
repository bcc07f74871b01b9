import type { McpServer, ServerContext } from '@modelcontextprotocol/server'
import { z } from 'zod'

const TASKS = 'io.modelcontextprotocol/tasks'
/** Of MCP 2026-07-28. */
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

interface KnownTask {
  readonly id: string
  /** The argument of the call that began it. */
  readonly order: string
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'
  /** Beside the status, in the answer of `tasks/get`. */
  more: object
}

/** What a server of tasks was asked, and what a test lets become of its tasks. */
export interface TaskBench {
  /** The tool `bake` begins a task, or answers at once where the client does not know tasks. */
  register(server: McpServer): void
  /** The only task of an order. @throws if there is none, or more than one */
  of(order: string): KnownTask
  finish(order: string, text: string): void
  fail(order: string, message: string): void
  ask(order: string, message: string): void
  /** The server loses its memory of a task. */
  forget(order: string): void
  /** The orders of the requests of a method. */
  asked(method: 'tasks/get' | 'tasks/update' | 'tasks/cancel', order: string): number
  /** What was sent with `tasks/update`. */
  readonly answers: readonly unknown[]
  /** Called with each request, before it is answered. */
  look: (method: string, order: string) => Promise<void> | void
}

const SIZE = { type: 'object', properties: { size: { type: 'integer' } }, required: ['size'] } as const

/** A server of the extension of tasks (SEP-2663), on the raw request handlers of the official server: it has no runtime of its own. */
export function createTaskBench(interval = 1_000): TaskBench {
  const tasks = new Map<string, KnownTask>()
  const requests: { readonly method: string; readonly order: string }[] = []
  const answers: unknown[] = []
  const only = (order: string): KnownTask => {
    const found = [...tasks.values()].filter((task) => task.order === order)
    const [task] = found
    if (task === undefined || found.length > 1)
      throw new Error(`Expected one task of ${order}, got ${found.length}.`)
    return task
  }
  const end = (order: string, status: KnownTask['status'], more: object): void => {
    Object.assign(only(order), { status, more })
  }
  const described = ({ id, status }: KnownTask) => {
    const at = new Date().toISOString()
    return { taskId: id, status, createdAt: at, lastUpdatedAt: at, ttlMs: null, pollIntervalMs: interval }
  }
  const bench: TaskBench = {
    answers,
    of: only,
    look: () => undefined,
    asked: (method, order) => requests.filter((one) => one.method === method && one.order === order).length,
    finish: (order, text) =>
      end(order, 'completed', { result: { content: [{ type: 'text', text }], isError: false } }),
    fail: (order, message) => end(order, 'failed', { error: { code: -32_603, message } }),
    ask: (order, message) =>
      end(order, 'input_required', {
        inputRequests: {
          size: { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: SIZE } },
        },
      }),
    forget: (order) => void tasks.delete(only(order).id),
    register(server) {
      server.server.registerCapabilities({ extensions: { [TASKS]: {} } })
      server.registerTool(
        'bake',
        { description: 'Bakes', inputSchema: z.object({ order: z.string() }) },
        async ({ order }, context) => {
          if (!knowsTasks(context)) return { content: [{ type: 'text', text: 'baked at once' }] }
          const task: KnownTask = {
            id: `task-${tasks.size + 1}-${order}`,
            order,
            status: 'working',
            more: {},
          }
          tasks.set(task.id, task)
          await bench.look('tools/call', order)
          // The types of the server know no tasks.
          return { resultType: 'task', ...described(task) } as never
        },
      )
      const answer = (
        method: Parameters<TaskBench['asked']>[0],
        work: (task: KnownTask, context: ServerContext) => object,
      ): void =>
        server.server.setRequestHandler(
          method,
          { params: z.looseObject({ taskId: z.string() }) },
          async ({ taskId }, context) => {
            const task = tasks.get(taskId)
            if (task === undefined) throw Object.assign(new Error('Unknown task'), { code: -32_602 })
            requests.push({ method, order: task.order })
            await bench.look(method, task.order)
            return work(task, context) as never
          },
        )
      answer('tasks/get', (task) => ({ ...described(task), ...task.more }))
      answer('tasks/update', (task, context) => {
        answers.push(context.mcpReq.inputResponses)
        // Answers that are not asked for any more are ignored.
        if (task.status === 'input_required') Object.assign(task, { status: 'working', more: {} })
        return {}
      })
      answer('tasks/cancel', (task) => {
        if (task.status === 'working' || task.status === 'input_required')
          Object.assign(task, { status: 'cancelled', more: {} })
        return {}
      })
    },
  }
  return bench
}

function knowsTasks({ mcpReq }: ServerContext): boolean {
  const { envelope = {} } = mcpReq as { readonly envelope?: Readonly<Record<string, unknown>> }
  const capabilities = envelope[CAPABILITIES] as { readonly extensions?: object } | undefined
  return TASKS in (capabilities?.extensions ?? {})
}
