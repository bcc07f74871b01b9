import { expect, test } from 'vitest'

import { newsroom } from '../../examples/newsroom/registry.js'
import type { ScriptedRequest } from '../../src/testing/index.js'
import { threeModes } from '../support/three-modes.js'
import { createVoice } from '../support/voice.js'

const chief = createVoice()
const staff = createVoice()
const deliver = (text: string) => ({ toolCalls: [{ name: 'deliver', args: { text } }] })
const results = ({ messages }: ScriptedRequest) =>
  messages.filter(({ role }) => role === 'tool').map(({ text }) => text)
/** The registry note tells it. */
const reference = ({ messages }: ScriptedRequest) =>
  /"reference":"([^"]+)"/.exec(messages.at(-1)?.text ?? '')?.[1] ?? ''

const models = { chief: chief.model, staff: staff.model }

threeModes({ registry: newsroom, models, isOnOneStore: true }, (modes) => {
  const start = (message: string, env: Readonly<Record<string, string>> = {}) =>
    modes.env.threads.create({ agent: 'editor', message, env })

  test('an archivist starts by itself before the first word', async () => {
    staff.says(deliver('A storm and a fair.'))
    chief.says((request) => ({ text: `Last week: ${results(request)[0]}` }))
    const thread = await start('What did we write?')
    expect((await thread.waitUntilIdle()).reply?.content).toBe('Last week: A storm and a fair.')
    expect((await thread.snapshot()).children).toMatchObject([{ name: 'archivist', status: 'completed' }])
  })

  test('topics are researched at a time, and answered together', async () => {
    const research = (request: ScriptedRequest) => deliver(`About ${request.messages[0]?.text}.`)
    staff.says(deliver('Nothing.'), research, research)
    chief.says(
      { toolCalls: [{ name: 'researcher', args: { items: [{ topic: 'rain' }, { topic: 'snow' }] } }] },
      (request) => ({ text: results(request).at(-1) ?? '' }),
    )
    const thread = await start('An article on the weather.')
    const { reply } = await thread.waitUntilIdle()
    expect(reply?.content).toContain('2 subagents have ended.')
    expect(reply?.content).toMatch(/1\. rain .*\nAbout rain\.\n\n2\. snow .*\nAbout snow\./)
  })

  test('one proofreader reads a text twice, and remembers', async () => {
    const agent = { agent: 'proofreader', name: 'Eva', attachments: [] }
    staff.says(deliver('Nothing.'), deliver('There is an e too much.'), (request) =>
      deliver(`Read ${request.messages.filter(({ role }) => role === 'user').length} texts, all is well.`),
    )
    chief.says(
      { toolCalls: [{ name: 'subagent_create', args: { ...agent, message: 'The raine.' } }] },
      (request) => ({
        toolCalls: [
          {
            name: 'subagent_message',
            args: { referenceId: reference(request), message: 'The rain.', attachments: [] },
          },
        ],
      }),
      (request) => ({ text: results(request).at(-1)?.split('\n')[0] ?? '' }),
    )
    const thread = await start('Proofread it.')
    expect((await thread.waitUntilIdle()).reply?.content).toBe('Read 2 texts, all is well.')
    const { children } = await thread.snapshot()
    expect(children.find(({ name }) => name === 'proofreader')).toMatchObject({
      threadName: 'Eva',
      resumable: true,
    })
    const stays = children.find(({ resumable }) => resumable)?.reference ?? ''
    expect(await modes.env.threads.get(stays).snapshot()).toMatchObject({ status: 'idle' })
  })

  test('a translator is offered where the variable says so', async () => {
    staff.says(deliver('Nothing.'))
    chief.says({ toolCalls: [{ name: 'translator', args: { text: 'The rain.' } }] }, (request) => ({
      text: results(request).at(-1) ?? '',
    }))
    const without = await start('Translate it.')
    expect((await without.waitUntilIdle()).reply?.content).toContain('"translator" is not enabled')

    staff.says(deliver('Nothing.'), deliver('La pluie.'))
    chief.says(
      { toolCalls: [{ name: 'translator', args: { text: 'The rain.' } }] },
      { text: 'It is being translated.' },
      (request) => ({
        text: `It is there: ${request.messages.findLast(({ text }) => text.includes('pluie'))?.text}`,
      }),
    )
    const thread = await start('Translate it.', { TRANSLATION: 'yes' })
    const { reply } = await thread.waitUntilIdle({ children: true })
    expect(reply?.content).toMatch(/has returned the following result:\nLa pluie\./)
  })
})
