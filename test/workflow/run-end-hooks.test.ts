import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { defineAgent, defineHook, defineModel, definePrompt, defineTool, registry } from '../../src/index.js'
import type { HookPoints, RunEnding } from '../../src/index.js'
import type { ModelScript } from '../../src/testing/index.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { calls } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf, transcript } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { unscripted } from '../support/unscripted.js'

/** What the hook does; each test sets it. */
let mayEnd: HookPoints['before_run_end'] = () => null
beforeEach(() => {
  mayEnd = () => null
})

const execute = (): never => {
  throw new Error('Expected the tool to be faked by the test.')
}
const words = z.object({ words: z.string() })
const desk = registry({
  models: [defineModel({ name: 'voice', provider: unscripted, model: 'scripted' })],
  prompts: [
    definePrompt({
      ...{ name: 'writer', toolDescription: 'Writes', prompt: 'You write.', model: 'voice' },
      ...{ includeChat: true, includePastTools: true, tools: ['finish'] },
    }),
  ],
  agents: [
    defineAgent({
      name: 'writer',
      sideA: { prompt: 'writer', stopTool: 'finish', stopToolResponseProperty: 'words' },
      hooks: ['may_end'],
    }),
    defineAgent({ name: 'hasty', sideA: { prompt: 'writer', maxSteps: 1 }, hooks: ['may_end'] }),
  ],
  tools: { finish: defineTool({ description: 'Ends the turn', args: words, execute }) },
  hooks: [
    defineHook({
      hook: 'before_run_end',
      id: 'may_end',
      timeout: 1_000,
      execute: (...given) => mayEnd(...given),
    }),
  ],
})

const scripts = createFamilyScripts(desk)
let number = 0
const finish = (text: string) => calls({ name: 'finish', args: { words: marked(text) } })

threeModes({ registry: desk, models: scripts.models, tools: scripts.tools }, (mode) => {
  async function start(script: ModelScript, agent: 'writer' | 'hasty' = 'writer') {
    const id = `ends-${(number += 1)}-${mode.mode.replaceAll(' ', '-')}`
    const voices = scripts.script(id, mode.env.store, {
      voices: { writer: script },
      tools: { finish: () => ({ status: 'success', result: marked('Ended') }) },
    })
    const thread = await mode.env.threads.create({ agent, id, message: marked('Hello') })
    return { thread, voice: voices['writer'] }
  }
  const ends = async (thread: Awaited<ReturnType<typeof start>>['thread']) =>
    (await factsOf(thread)).filter(({ type }) => /^run\.(started|completed|failed)$/.test(type))

  test('a refused end goes on in the same run, with the words of the hook as a message', async () => {
    const given: RunEnding[] = []
    mayEnd = (_state, end) => {
      given.push(end)
      return end.text === marked('Draft') ? { continue: marked('Check it') } : null
    }
    const { thread, voice } = await start([{ text: marked('Draft') }, { text: marked('Checked') }])
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 2 })
    expect((await transcript(thread)).map(({ role, content }) => [role, content])).toEqual([
      ['user', marked('Hello')],
      ['assistant', marked('Draft')],
      ['user', marked('Check it')],
      ['assistant', marked('Checked')],
    ])
    expect(JSON.stringify(voice?.requests[1])).toContain(marked('Check it'))
    expect(given).toEqual([
      { run: 1, step: 1, reason: 'stop_on_response', text: marked('Draft') },
      { run: 1, step: 2, reason: 'stop_on_response', text: marked('Checked') },
    ])
    expect((await ends(thread)).map(({ type }) => type)).toEqual(['run.started', 'run.completed'])
    const facts = (await factsOf(thread)).filter(({ type }) => type.startsWith('hook.'))
    expect(facts.map(({ type, payload, stepId }) => [type, payload, stepId])).toMatchObject([
      ['hook.started', { hook: 'may_end', point: 'before_run_end', timeout: 1_000 }, 'step_1_1'],
      ['hook.completed', { decision: 'continue', duration: expect.any(Number) }, 'step_1_1'],
      ['hook.started', { hook: 'may_end' }, 'step_1_2'],
      ['hook.completed', { decision: 'none' }, 'step_1_2'],
    ])
  })

  test('an end by the stop tool is refused, and its words are not said', async () => {
    const given: RunEnding[] = []
    mayEnd = (_state, end) => {
      given.push(end)
      return given.length === 1 ? { continue: marked('Not yet') } : null
    }
    const { thread } = await start([finish('First'), finish('Second')])
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_tool', steps: 2 })
    const rows = (await transcript(thread)).filter(
      ({ role, tool_calls: made }) => role !== 'tool' && made === null,
    )
    expect(rows.map(({ role, content }) => [role, content])).toEqual([
      ['user', marked('Hello')],
      ['user', marked('Not yet')],
      ['assistant', marked('Second')],
    ])
    expect(given.map(({ reason, text }) => [reason, text])).toEqual([
      ['stop_tool', marked('First')],
      ['stop_tool', marked('Second')],
    ])
  })

  test('a run ends after three refusals, with a warning; the next run can be refused again', async () => {
    let asked = 0
    mayEnd = () => {
      asked += 1
      return { continue: marked('More') }
    }
    const text = { text: marked('Words') }
    const { thread } = await start(Array.from({ length: 8 }, () => text))
    expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 4 })
    expect(asked).toBe(3)
    const warnings = async () => (await factsOf(thread)).filter(({ type }) => type === 'runtime.warning')
    expect(await warnings()).toMatchObject([{ payload: { code: 'end_refused_often' } }])
    await thread.send(marked('Again'))
    await thread.waitUntilIdle()
    expect([asked, (await warnings()).length]).toEqual([6, 2])
  })

  describe('a run ends all the same', () => {
    test.each([
      ['throws', 'threw', () => Promise.reject(new Error('no opinion'))],
      ['hangs', 'timeout', () => new Promise<never>(() => undefined)],
      ['answers something else', 'invalid_answer', () => ({ continue: ' ' })],
    ] as const)('if the hook %s, which is recorded', async (_what, code, broken) => {
      mayEnd = broken
      const { thread } = await start([{ text: marked('Words') }])
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'stop_on_response', steps: 1 })
      const failed = (await factsOf(thread)).filter(({ type }) => type === 'hook.failed')
      expect(failed).toMatchObject([{ payload: { hook: 'may_end', point: 'before_run_end', code } }])
      expect(await thread.errors()).toMatchObject([{ type: `hook.${code}` }])
    })

    test('if a limit ends it', async () => {
      mayEnd = () => ({ continue: marked('More') })
      const { thread } = await start([{ text: marked('Words') }, { text: marked('Never') }], 'hasty')
      expect(await thread.waitUntilIdle()).toMatchObject({ reason: 'max_steps', steps: 1 })
    })
  })

  test('a stop while the hook is asked ends the run', async () => {
    let reached: () => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      reached = resolve
    })
    mayEnd = () => {
      reached()
      return new Promise<never>(() => undefined)
    }
    const { thread } = await start([{ text: marked('Words') }, { text: marked('Never') }])
    await asked
    await thread.stop()
    await thread.waitUntilIdle()
    expect((await transcript(thread)).map(({ content }) => content)).toEqual([
      marked('Hello'),
      marked('Words'),
    ])
  })
})
