import { expect, test } from 'vitest'

import type { ScriptedRequest } from '../../src/testing/index.js'
import { familyRuns } from '../support/family-runs.js'
import { marked } from '../support/marker.js'
import { freshBeginnings } from '../support/request-rules.js'
import { transcript } from '../support/thread-facts.js'

const approve = { toolCalls: [{ name: 'approve', args: { summary: marked('Good') } }] }
const search = { name: 'search', args: { query: marked('sources') } }
const note = { name: 'note', args: { text: marked('missing source') } }
/** Both sides call a tool and speak. */
const busy = {
  writer: [
    { text: marked('I look it up'), toolCalls: [search] },
    { text: marked('Found it') },
    { text: marked('Here it is') },
  ],
  editor: [{ text: marked('I note that'), toolCalls: [note] }, { text: marked('Mind the gap') }, approve],
}

familyRuns((families) => {
  test('SA-R-04.4 SA-R-04.5 SA-A-02.2a each side is assistant and the other user', async () => {
    const family = await families.start({
      agent: 'pair',
      message: marked('Task'),
      voices: {
        writer: [{ text: marked('Draft 1') }, { text: marked('Draft 2') }],
        editor: [{ text: marked('Not yet') }, approve],
      },
    })
    await family.thread.waitUntilIdle()
    expect(said(family.requests('writer')[1])).toEqual([
      ['user', marked('Task')],
      ['assistant', marked('Draft 1')],
      ['user', marked('Not yet')],
    ])
    // A person's words are those of side B, whose request has to begin with its counterpart.
    expect(said(family.requests('editor')[1])).toEqual([
      ['user', 'The conversation begins.'],
      ['assistant', marked('Task')],
      ['user', marked('Draft 1')],
      ['assistant', marked('Not yet')],
      ['user', marked('Draft 2')],
    ])
    expect((await transcript(family.thread)).map(({ role, content }) => [role, content])).toMatchObject([
      ['user', marked('Task')],
      ['assistant', marked('Draft 1')],
      ['user', marked('Not yet')],
      ['assistant', marked('Draft 2')],
      ['user', null],
      ['tool', marked('Good')],
    ])
  })

  test("SA-R-04.6 a side never sees the other's tool calls", async () => {
    const family = await families.start({
      agent: 'pair',
      voices: busy,
    })
    await family.thread.waitUntilIdle()
    const [, , writer] = family.requests('writer')
    expect(calledIn(writer)).toEqual(['search'])
    expect(said(writer)).toContainEqual(['user', marked('I note that')])
    const editor = family.requests('editor').at(-1)
    expect(calledIn(editor)).toEqual(['note'])
    expect(said(editor)).toContainEqual(['user', marked('I look it up')])
    expect(JSON.stringify(editor?.raw.prompt)).not.toContain('search')
    expect(JSON.stringify(writer?.raw.prompt)).not.toContain(marked('missing source'))
  })

  test('K-22 T12 the requests of each side begin alike', async () => {
    const family = await families.start({ agent: 'pair', voices: busy })
    await family.thread.waitUntilIdle()
    for (const side of ['writer', 'editor']) {
      expect(family.requests(side)).toHaveLength(3)
      expect(freshBeginnings(family.requests(side))).toEqual([])
    }
  })

  test('each side speaks with its own prompt and tools', async () => {
    const family = await families.start({
      agent: 'pair',
      voices: { writer: [{ text: marked('Draft') }], editor: [approve] },
    })
    await family.thread.waitUntilIdle()
    const [writer] = family.requests('writer')
    const [editor] = family.requests('editor')
    expect(writer).toMatchObject({ side: 'a', system: 'You are the writer.' })
    expect(editor).toMatchObject({ side: 'b', system: 'You are the editor.' })
    expect(writer?.tools.map(({ name }) => name)).toContain('search')
    expect(editor?.tools.map(({ name }) => name)).not.toContain('search')
  })

  test('a turn without words leaves a neutral silent line', async () => {
    const family = await families.start({
      agent: 'tool_pair',
      voices: {
        writer: [{ toolCalls: [{ name: 'hand_over' }] }],
        editor: [approve],
      },
    })
    expect(await family.thread.waitUntilIdle()).toMatchObject({ reason: 'session_stop' })
    const line = 'The other side ended its turn without words.'
    expect(said(family.requests('editor')[0]).at(-1)).toEqual(['user', line])
    const { messages } = await family.thread.messages({ includeSilent: true })
    expect(messages.filter(({ silent }) => silent)).toMatchObject([{ role: 'assistant', content: line }])
    expect((await transcript(family.thread)).map(({ content }) => content)).not.toContain(line)
  })
})

function said(request: ScriptedRequest | undefined): readonly (readonly [string, string])[] {
  return (request?.messages ?? [])
    .filter(({ role }) => role !== 'tool')
    .map(({ role, text }) => [role, text] as const)
}

/** The tools whose calls or results a request shows. */
function calledIn(request: ScriptedRequest | undefined): readonly string[] {
  const shown = (request?.messages ?? []).flatMap(({ toolCalls = [], toolResults = [] }) => [
    ...toolCalls,
    ...toolResults,
  ])
  return [...new Set(shown.map(({ name }) => name))]
}
