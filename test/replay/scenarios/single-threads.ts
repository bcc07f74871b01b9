import { randomUUID } from 'node:crypto'
import type { ThreadHandle } from '../../../src/client/index.js'
import type { ThreadLimits } from '../../../src/protocol/messages.js'
import { takeOperation } from '../../../src/store/operations.js'
import { requestTermination } from '../../../src/store/threads/threads.js'
import type { TestEnvironment } from '../../../src/testing/index.js'
import { createGate } from '../../support/gate.js'
import { marked } from '../../support/marker.js'
import { payload, signalRaw, startRaw } from '../../support/raw-messages.js'
import { factTypes } from '../../support/thread-facts.js'
import type { ScriptedThread, ThreadScript } from '../../support/thread-scripts.js'
import { untilAborted } from '../../support/until-aborted.js'
import { until } from '../../support/until.js'
import { noted } from '../../support/workflow-desk.js'
import type { WorkflowDesk } from '../../support/workflow-desk.js'
import { closed, doing, idle, requestOf } from './scenario.js'
import type { Scenarios } from './scenario.js'

type Agent = 'hasty' | 'clerk' | 'manager' | 'keeper' | 'capped' | 'closer' | 'teller'

export interface SingleThreads {
  readonly env: TestEnvironment<WorkflowDesk>
  script(threadId: string, script: ThreadScript): ScriptedThread
}

const call = (name: string, args: object = { task: marked(name) }) => ({ name, args })
const work = call('work')
const calls = (...toolCalls: readonly { name: string; args: object }[]) => ({ toolCalls })
const done = { text: marked('Done') }
/** As often as it is asked. */
const always = (reply: object) => () => reply

/** Behaviours of a thread that talks to a person. */
export function singleThreads({ env, script }: SingleThreads): Scenarios {
  async function start(
    agent: Agent,
    scripted: ThreadScript,
    { message = marked('Hello'), limits }: { message?: string | null; limits?: ThreadLimits } = {},
  ): Promise<ThreadHandle> {
    const id = `${agent}-${randomUUID()}`
    script(id, scripted)
    return env.threads.create({ agent, id, ...(message !== null && { message }), ...(limits && { limits }) })
  }

  /** Of one thread each, that are idle at the end. */
  async function all(threads: readonly Promise<ThreadHandle>[]): Promise<readonly string[]> {
    const started = await Promise.all(threads)
    await Promise.all(started.map(idle))
    return started.map(({ threadId }) => threadId)
  }

  const lost = async (thread: ThreadHandle): Promise<void> => {
    await thread.workflow.terminate('operator')
    await until('a lost thread', async () => (await thread.snapshot()).status === 'lost')
  }

  return {
    async 'runs-end-for-every-reason'() {
      const failing = { work: () => ({ status: 'error', error: marked('No') }) as const }
      const summary = { summary: marked('Solved') }
      return all([
        start('capped', { chat: always(calls(work)) }),
        start('clerk', { chat: always(calls(work)), tools: failing }),
        start('closer', { chat: [calls(call('finish', {}), call('close_case', summary))] }),
        start('closer', { chat: [calls(call('give_up', { reason: marked('No way') }))] }),
        start('teller', { chat: [calls(call('close_case', summary))] }),
      ])
    },

    async 'steps-in-one-activity'() {
      const gate = createGate()
      let worked = 0
      const thread = await start('hasty', {
        chat: [calls(work, work), calls(work), calls(work), done, calls(work), done],
        tools: {
          work: async () => {
            worked += 1
            if (worked === 3) await gate.passed
            return { status: 'success', result: marked('ok') }
          },
        },
      })
      await until('the third tool', () => worked === 3)
      await thread.send(marked('Meanwhile'))
      gate.open()
      await idle(thread)
      await thread.send(marked('And again'))
      await idle(thread)
      return [thread.threadId]
    },

    async 'calls-that-are-refused'() {
      const chat = [calls(call('nobody_knows'), call('strict', { count: 'many' }), call('slow'), work), done]
      return all([start('clerk', { chat, tools: { slow: untilAborted } })])
    },

    async 'tool-stopped-and-messages-behind-it'() {
      const thread = await start('clerk', {
        chat: [calls(work, call('other')), always(done)(), always(done)(), done],
        tools: { work: untilAborted },
      })
      await doing(thread, 'tool work')
      for (const text of ['One', 'Two']) await thread.send(marked(text))
      await thread.stop()
      await idle(thread)
      await thread.continue()
      await idle(thread)
      await thread.stop()
      await thread.send(marked('Three'))
      await idle(thread)
      return [thread.threadId]
    },

    async 'stopped-and-terminated-while-a-person-is-asked'() {
      const scripted = { chat: [calls(call('guarded', { task: marked('large') })), done] }
      const [stopped, denied, ended] = await Promise.all([
        start('manager', scripted),
        start('manager', scripted),
        start('manager', scripted),
      ])
      await Promise.all([stopped, denied, ended].map(requestOf))
      await stopped.stop()
      await denied.respond(await requestOf(denied), { approved: false, reason: marked('Too much') })
      await ended.terminate()
      await Promise.all([idle(stopped), idle(denied), closed(ended)])
      return [stopped, denied, ended].map(({ threadId }) => threadId)
    },

    async 'terminated-with-a-full-queue'() {
      const thread = await start('clerk', { chat: [calls(work)], tools: { work: untilAborted } })
      await doing(thread, 'tool work')
      await thread.stop()
      await idle(thread)
      await thread.queueTool('other', { task: marked('never') })
      await thread.terminate({ reason: marked('enough') })
      await closed(thread)
      return [thread.threadId]
    },

    async 'queued-items-taken-back'() {
      const gate = createGate()
      const thread = await start('clerk', {
        chat: [calls(work), done, done],
        tools: { work: async () => (await gate.passed, { status: 'success' }) },
      })
      await doing(thread, 'tool work')
      const { messageId } = await thread.send(marked('Not this'))
      await thread.send(marked('But this'))
      const { toolCallId } = await thread.queueTool('other', { task: marked('nor this') })
      await thread.removeQueued(messageId)
      await thread.removeQueued(toolCallId)
      gate.open()
      await idle(thread)
      return [thread.threadId]
    },

    async 'queued-items-moved'() {
      const gate = createGate()
      const thread = await start('clerk', {
        chat: [calls(work), calls(call('other')), done, done],
        tools: {
          work: async () => (await gate.passed, { status: 'success' }),
          other: untilAborted,
        },
      })
      await doing(thread, 'tool work')
      await thread.send({ content: marked('A run of its own'), deliver: 'next_turn' })
      const { messageId } = await thread.send(marked('Now'))
      await thread.promote(messageId)
      gate.open()
      await doing(thread, 'tool other')
      await thread.send({ content: marked('Before all'), deliver: 'preempt' })
      await idle(thread)
      return [thread.threadId]
    },

    async 'what-waits-taken-back-by-a-tool'() {
      const gate = createGate()
      let [effect, waiting] = ['', '']
      const thread = await start('manager', {
        chat: [calls(call('other')), calls(work), done, done],
        tools: {
          async other(state) {
            effect = await state.scheduleEffect('note', {}, 3_600_000)
            return { status: 'success' }
          },
          async work(state) {
            await gate.passed
            await state.removeScheduledEffect(effect)
            await state.deleteMessage(waiting)
            return { status: 'success' }
          },
        },
      })
      await doing(thread, 'tool work')
      waiting = (await thread.send(marked('Never mind'))).messageId
      gate.open()
      await idle(thread)
      return [thread.threadId]
    },

    async 'what-tools-and-hooks-do-to-their-thread'() {
      const thread = await start('manager', {
        chat: [calls(work), calls(call('other')), done, always(done)(), done],
        tools: {
          async work(state) {
            const removed = await state.scheduleEffect('note', {}, 3_600_000)
            await state.removeScheduledEffect(removed)
            await state.setEnv('HOUSE', marked('Inn'), { type: 'text' })
            await state.queueMessage({ role: 'user', content: marked('More') })
            state.queueTool('flaky', { task: marked('later') })
            return { status: 'success' }
          },
          other(state) {
            state.execution?.stop()
            return { status: 'success' }
          },
        },
      })
      await idle(thread)
      await thread.setEnv({ HOUSE: marked('Rest Inn') })
      await thread.send(marked('And now?'))
      await idle(thread)
      return [thread.threadId]
    },

    async 'terminated-by-its-own-tool'() {
      const thread = await start('clerk', {
        chat: [calls(work)],
        tools: { work: async (state) => (await state.terminate(), { status: 'success' }) },
      })
      await closed(thread)
      return [thread.threadId]
    },

    async 'terminated-without-a-cancel'() {
      const row = (thread: Pick<ThreadHandle, 'threadId'>): Promise<unknown> =>
        env.store.write((tx) =>
          requestTermination(tx, {
            threadId: thread.threadId,
            reason: marked('enough'),
            now: Date.now() * 1000,
          }),
        )
      const [model, tool] = await Promise.all([
        start('clerk', {
          chat: [calls(work), done],
          tools: { work: async (state) => (await row(state), { status: 'success' }) },
        }),
        start('clerk', {
          chat: [async ({ threadId }) => (await row({ threadId: threadId ?? '' }), calls(work)), done],
        }),
      ])
      await Promise.all([closed(model), closed(tool)])
      return [model, tool].map(({ threadId }) => threadId)
    },

    async 'prompts-inside-prompts'() {
      const summarize = call('summarize', { text: marked('A story') })
      const review = [
        calls(call('guarded', { task: marked('large') }), summarize),
        calls(call('other')),
        { error: { status: 400, message: marked('refused') } },
      ]
      const chat = [calls(summarize), calls(call('summarize', {}), summarize), done]
      const thread = await start('manager', { chat, review })
      await thread.respond(await requestOf(thread), { approved: true })
      await idle(thread)
      return [thread.threadId]
    },

    async 'queued-prompts-and-handoffs'() {
      const thread = await start(
        'manager',
        { chat: [always(done)(), done], review: [{ text: marked('Short') }, done, done] },
        { message: null },
      )
      await thread.queueTool('summarize' as 'work', { text: marked('A story') } as never)
      await idle(thread)
      await thread.queueTool('colleague' as 'work', { task: marked('Take over') })
      await idle(thread)
      return [thread.threadId]
    },

    async 'carried-over-while-it-waits'() {
      const limits = { historyEvents: 0 }
      const thread = await start(
        'manager',
        {
          chat: [
            calls(call('guarded', { task: marked('large') }), call('summarize', { text: marked('A story') })),
            calls(work, call('other')),
            calls(call('colleague', { task: marked('Take over') })),
          ],
          review: [calls(call('guarded', { task: marked('nested') })), done, done],
          tools: {
            async work(state) {
              await state.scheduleEffect('note', {}, 500)
              state.queueTool('flaky', { task: marked('later') })
              return { status: 'success' }
            },
          },
        },
        { limits },
      )
      await thread.respond(await requestOf(thread), { approved: true })
      const first = await until('another request', async () => {
        const { pending } = await thread.snapshot()
        return pending.find(({ id }) => !id.startsWith('approval_call_1_1_0'))?.id
      })
      await thread.send(marked('By the way'))
      await thread.respond(first, { approved: true })
      await until('the effect', async () => (await factTypes(thread)).includes('effect.completed'))
      await idle(thread)
      return [thread.threadId]
    },

    async 'reopened-after-a-loss'() {
      const gate = createGate()
      const thread = await start('clerk', {
        chat: [calls(work, call('other')), done, done],
        tools: { work: async () => (await gate.passed, { status: 'success' }) },
      })
      await doing(thread, 'tool work')
      await thread.send(marked('And this'))
      await lost(thread)
      await env.threads.reopen(thread.threadId)
      gate.open()
      await idle(thread)
      return [thread.threadId]
    },

    async 'effect-given-up'() {
      const thread = await start('clerk', {
        chat: [calls(work), done, done],
        tools: {
          async work(state) {
            const id = await state.scheduleEffect('note', {}, 200)
            const taken = { threadId: state.threadId, id, attempt: 99, state: 'started' } as const
            // Another attempt holds it, and never ends.
            noted.set(state.threadId, async () => {
              await env.store.write((tx) => takeOperation(tx, taken))
            })
            return { status: 'success' }
          },
        },
      })
      await until('the failure', async () => (await factTypes(thread)).includes('effect.failed'))
      await thread.send(marked('Are you there?'))
      await idle(thread)
      return [thread.threadId]
    },

    async 'nothing-to-do'() {
      const thread = await start('clerk', { chat: [done] }, { message: null })
      const input = payload('json/plain', JSON.stringify({ messageId: 'nobody-knows' }))
      await signalRaw(env.threads.temporal, { threadId: thread.threadId, signal: 'queueMessage', input })
      await idle(thread)
      await thread.continue()
      await idle(thread)
      return [thread.threadId]
    },

    async 'start-that-is-not-valid'() {
      const threadId = `invalid-${randomUUID()}`
      const { temporal } = env.threads
      const input = payload('json/plain', '{"agent": 7}')
      await startRaw(temporal, { threadId, taskQueue: env.taskQueue, input })
      await temporal.workflow
        .getHandle(threadId)
        .result()
        .catch(() => undefined)
      return [threadId]
    },
  }
}
