import type { AgentName } from '../../../src/definitions/registry.js'
import type { ThreadState } from '../../../src/index.js'
import type { TestEnvironment } from '../../../src/testing/index.js'
import { startFamily } from '../../support/family-runs.js'
import type { Family, NewFamily } from '../../support/family-runs.js'
import type { FamilyScripts } from '../../support/family-scripts.js'
import { createGate } from '../../support/gate.js'
import type { KindsDesk } from '../../support/kinds-desk.js'
import {
  act,
  approve,
  calls,
  create,
  done,
  draft,
  giveUp,
  order,
  write,
} from '../../support/kinds-replies.js'
import { marked } from '../../support/marker.js'
import { until } from '../../support/until.js'
import { closed, familyOf, idle, requestOf } from './scenario.js'
import type { Scenarios } from './scenario.js'

export interface Families {
  readonly env: TestEnvironment<KindsDesk>
  readonly scripts: FamilyScripts
}

const never = () => new Promise<never>(() => undefined)
const tasks = (name: string, ...titles: readonly string[]) => ({
  name,
  args: { items: titles.map((title) => ({ task: marked(title), title })) },
})
const limits = { historyEvents: 0 }
const PATIENCE = 80_000

/** Behaviours of threads with subagents. */
export function families({ env, scripts }: Families): Scenarios {
  const start = (family: NewFamily<AgentName<KindsDesk>>): Promise<Family> =>
    startFamily(env, scripts, { agent: 'lead', ...family })
  const requests = (family: Family, prompt: string, count: number): Promise<unknown> =>
    until(`${count} of ${prompt}`, () => family.requests(prompt).length >= count, PATIENCE)
  /** When the root thread was asked so often. */
  async function ended(family: Family, count: number): Promise<readonly string[]> {
    await requests(family, 'lead', count)
    await family.thread.waitUntilIdle({ timeout: PATIENCE, children: true })
    return familyOf(family.thread)
  }
  /** Of a child that works until somebody ends it. */
  async function working(options: Partial<NewFamily<AgentName<KindsDesk>>> = {}): Promise<Family> {
    const family = await start({
      voices: { lead: [calls(order('helper')), done, done], worker: never, judge: [approve()] },
      ...options,
    })
    await requests(family, 'worker', 1)
    return family
  }

  return {
    async 'two-sides-and-two-sessions'() {
      const family = await start({
        agent: 'two_sides',
        voices: {
          worker: () => draft,
          second_side: [{ text: marked('Again') }, approve(), approve()],
          last: () => draft,
          judge: () => approve('Ready'),
        },
      })
      await family.thread.waitUntilIdle({ timeout: PATIENCE, children: true })
      await family.thread.send(marked('Another one'))
      await family.thread.waitUntilIdle({ timeout: PATIENCE, children: true })
      return familyOf(family.thread)
    },

    async 'turns-forced-by-a-tool'() {
      const family = await start({
        agent: 'two_sides',
        voices: {
          worker: [calls(act('force')), draft, draft],
          second_side: [{ text: marked('Again') }, approve(), approve()],
          last: () => draft,
          judge: () => approve('Ready'),
        },
        tools: { act: (state) => (state.execution?.forceTurn('b'), { status: 'success' }) },
      })
      await family.thread.waitUntilIdle({ timeout: PATIENCE, children: true })
      return familyOf(family.thread)
    },

    async 'subagents-that-fail'() {
      const family = await start({
        voices: {
          lead: [calls(order('helper')), calls(order('runner')), done, done],
          worker: [giveUp(), { error: { status: 400, message: marked('refused') } }],
        },
      })
      return ended(family, 4)
    },

    async 'subagent-killed-by-an-operator'() {
      const family = await working()
      await (await family.child()).workflow.terminate('operator')
      return ended(family, 2)
    },

    async 'subagent-killed-after-continue-as-new'() {
      const family = await working({ limits })
      await (await family.child()).workflow.terminate('operator')
      await until('the check', () => family.requests('lead').length === 2, 85_000)
      return ended(family, 2)
    },

    async 'subagent-killed-while-idle-and-messaged'() {
      const family: Family = await start({
        voices: {
          lead: [
            calls(create('resident')),
            async () => {
              const child = await family.child()
              await child.workflow.terminate('operator')
              return calls(write(child.threadId, 'Again'))
            },
            done,
            done,
          ],
          worker: () => draft,
          judge: () => approve(),
        },
      })
      return ended(family, 3)
    },

    async 'subagent-stopped-with-its-parent'() {
      const family = await working()
      await family.thread.stop()
      await family.thread.waitUntilIdle({ timeout: PATIENCE, children: true })
      await family.thread.continue()
      return ended(family, 2)
    },

    async 'subagent-left-alone-by-a-stop'() {
      const gate = createGate()
      const family = await working({
        voices: {
          lead: [calls(order('helper')), done],
          worker: async () => (await gate.passed, draft),
          judge: [approve()],
        },
      })
      await family.thread.stop({ children: false })
      await idle(family.thread)
      gate.open()
      await closed(await family.child())
      await family.thread.continue()
      return ended(family, 2)
    },

    async 'terminate-passed-down'() {
      const family = await working()
      await family.thread.terminate()
      await closed(family.thread)
      return familyOf(family.thread)
    },

    async 'subagent-whose-parent-was-killed'() {
      const gate = createGate()
      const family = await working({
        voices: {
          lead: [calls(order('runner')), done],
          worker: async () => (await gate.passed, draft),
          judge: [approve()],
        },
      })
      await idle(family.thread)
      await family.thread.workflow.terminate('operator')
      gate.open()
      await closed(await family.child())
      return familyOf(family.thread)
    },

    async 'subagents-of-every-kind-carried-over'() {
      const family: Family = await start({
        limits,
        voices: {
          lead: [
            calls(order('helper'), create('boarder'), tasks('crew', 'One', 'Two'), tasks('scouts', 'Three')),
            async () => calls(write((await family.children())[1]?.threadId ?? '', 'Again')),
            done,
            done,
            done,
            done,
          ],
          worker: () => draft,
          judge: () => approve(),
        },
      })
      return ended(family, 4)
    },

    async 'several-subagents-waited-for'() {
      const family = await start({
        voices: {
          lead: [calls(tasks('crew', 'One', 'Two')), done],
          worker: [draft, giveUp('Lost')],
          judge: () => approve(),
        },
      })
      return ended(family, 2)
    },

    async 'message-to-side-b-of-a-subagent'() {
      const family: Family = await start({
        voices: {
          lead: [
            calls(create('second')),
            async () => (
              await requests(family, 'judge', 1),
              calls(write((await family.child()).threadId, 'Look again'))
            ),
            done,
            done,
            done,
          ],
          worker: () => draft,
          judge: () => approve(),
        },
      })
      await requests(family, 'judge', 2)
      return ended(family, 3)
    },

    async 'subagents-that-speak-for-themselves'() {
      const family = await start({
        voices: {
          lead: [
            calls(create('recluse')),
            calls(write('00000000-0000-4000-8000-000000000000', 'To nobody'), create('hermit')),
            done,
            done,
            done,
          ],
          worker: [draft, calls(act('tell')), draft],
          judge: () => approve(),
        },
        tools: {
          act: async (state) => (await state.notifyParent(marked('Look here')), { status: 'success' }),
        },
      })
      await requests(family, 'worker', 3)
      return ended(family, 4)
    },

    async 'threads-that-act-on-each-other'() {
      const childOf = async (state: ThreadState): Promise<ThreadState | null> =>
        state.getChildThread(state.children[0]?.reference ?? '')
      const family = await start({
        voices: {
          lead: [calls(create('hermit')), calls(act('steer')), done, calls(act('end')), done],
          worker: () => draft,
          judge: () => approve(),
        },
        tools: {
          async act(state, { task }) {
            const child = await childOf(state)
            if (task === 'end') await child?.terminate()
            else {
              await child?.setEnv('CITY', marked('Bern'), { type: 'text' })
              child?.queueTool('note', { text: marked('from above') })
              await child?.queueMessage({ role: 'user', content: marked('From a tool') })
              await child?.scheduleEffect('remind', { note: marked('Wake up') }, 100)
              const removed = await child?.scheduleEffect('remind', { note: marked('Never') }, 3_600_000)
              await child?.removeScheduledEffect(removed ?? '')
            }
            return { status: 'success' }
          },
        },
      })
      const child = await family.child()
      await until('the effect', () => JSON.stringify(family.requests('worker')).includes('Wake up'), PATIENCE)
      await family.thread.waitUntilIdle({ timeout: PATIENCE, children: true })
      await family.thread.send(marked('End it'))
      await closed(child)
      return ended(family, 5)
    },

    async 'immediates-and-their-handoff'() {
      const bootstrap = calls({ name: 'bootstrap_immediate_subagent', args: { task: marked('Show') } })
      const family = await start({
        agent: 'opener',
        voices: {
          opener: [calls({ name: 'host_desk', args: {} })],
          host: [bootstrap, done, done],
          idler: () => draft,
          last: () => draft,
          worker: () => draft,
          judge: () => approve('Ready'),
        },
      })
      await family.thread.waitUntilIdle({ timeout: PATIENCE, children: true })
      return familyOf(family.thread)
    },

    async 'levels-below-each-other'() {
      const family = await start({
        voices: {
          lead: [calls(order('relay')), done],
          relay_desk: [calls(order('vault')), giveUp('No key')],
        },
      })
      return ended(family, 2)
    },

    async 'deferred-subagent-of-a-terminated-parent'() {
      const family = await start({ voices: { lead: [calls(order('vault')), done] } })
      await idle(family.thread)
      await requestOf(family.thread)
      await family.thread.terminate()
      await closed(family.thread)
      return familyOf(family.thread)
    },
  }
}
