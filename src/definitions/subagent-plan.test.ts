import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { build, desk, research } from '../../test/support/loose-registry.js'
import { LIMITS } from '../protocol/limits.js'
import { buildPlan } from './plan/build-plan.js'
import { lifecycleTools } from './plan/lifecycle-tools.js'
import type { PlanContent, SubagentContent } from './plan/plan-content.js'

const topics = { ...desk, name: 'topics', requiredSchema: z.object({ topic: z.string() }) }
const expert = {
  ...research,
  title: 'The researcher',
  sideA: { prompt: 'topics' },
  sideB: { prompt: 'desk' },
}
const receives = { receives_messages: 'side_b' } as const

/** The plan's content for an agent whose prompt lists these tools. */
function contentOf(...entries: readonly unknown[]): PlanContent {
  const front = { ...desk, name: 'front', tools: ['done', ...entries] }
  const agents = [
    { name: 'front', sideA: { prompt: 'front' } },
    expert,
    { ...research, name: 'plain', toolDescription: 'Is plain.' },
  ]
  const content = buildPlan(build({ agents, prompts: [desk, topics, front] }), 'front')
  if ('missing' in content) throw new Error('Expected a plan.')
  return content
}

const promptOf = (content: PlanContent) => content.prompts['front']
const toolNames = (content: PlanContent) => promptOf(content)?.tools.map(({ name }) => name)

describe('the plan of a prompt', () => {
  test('SA-A-07.4b has all knobs of its subagents', () => {
    const immediate = { nameEnv: 'NAME', scopedEnv: ['TOKEN'] }
    const entry = { name: 'research', blocking: false, optional: 'FLAG', immediate }
    const content = contentOf({ ...entry, initAgentNameProperty: 'topic', resumable: receives }, 'plain')
    expect(promptOf(content)?.subagents).toMatchObject({
      research: {
        agent: 'research',
        title: 'The researcher',
        description: 'Researches.',
        blocking: false,
        timeout: null,
        optional: 'FLAG',
        resumable: { receives: 'b', maxInstances: null, parentCommunication: 'implicit' },
        immediate: { nameEnv: 'NAME', descriptionEnv: null, scopedEnv: ['TOKEN'] },
        initAgentNameProperty: 'topic',
        inputSchema: { properties: { topic: { type: 'string' } } },
      },
      plain: {
        title: null,
        blocking: true,
        resumable: null,
        immediate: null,
        inputSchema: { properties: {} },
      },
    })
  })

  test('SA-R-07.2a has the lifecycle tools with a resumable subagent', () => {
    const content = contentOf({ name: 'research', resumable: receives }, 'plain')
    expect(content.plan.prompts['front']?.tools).toMatchObject({
      plain: { kind: 'subagent', agent: 'plain' },
      subagent_create: { kind: 'subagent_create' },
      subagent_message: { kind: 'subagent_message' },
    })
    expect(content.plan.prompts['front']?.tools).not.toHaveProperty('research')
    expect(toolNames(content)).toEqual(['done', 'plain'])
    expect(Object.keys(contentOf('plain').plan.prompts['front']?.tools ?? {})).toEqual(['done', 'plain'])
  })

  test('has no texts, whatever its subagents say', () => {
    const plan = JSON.stringify(contentOf({ name: 'research', resumable: receives, optional: 'FLAG' }).plan)
    expect(plan).not.toMatch(/FLAG|Researches|topic"/)
  })

  test('wraps the arguments of a fan-out as items', () => {
    const tool = promptOf(contentOf({ name: 'research', fanOut: true }))?.tools.at(-1)
    expect(tool).toMatchObject({
      name: 'research',
      inputSchema: {
        properties: {
          items: {
            minItems: 1,
            maxItems: LIMITS.fanOut,
            items: { properties: { topic: { type: 'string' } } },
          },
        },
        required: ['items'],
        additionalProperties: false,
      },
    })
  })

  test.each([
    ['SA-R-07.3a a call that waits is told so', {}, /waits until the agent is done/],
    [
      'SA-R-07.3a a call that does not wait is told so',
      { blocking: false },
      /result comes later, as a message/,
    ],
  ])('%s', (_title, knobs, says) => {
    expect(promptOf(contentOf({ name: 'research', ...knobs }))?.tools.at(-1)?.description).toMatch(says)
  })
})

describe('the lifecycle tools', () => {
  const subagents = (content: PlanContent) => Object.values(promptOf(content)?.subagents ?? {})
  const create = (listed: readonly SubagentContent[]) => lifecycleTools(listed)[0]

  test('SA-A-07.7a name the agents with what they are for', () => {
    const explicit = { ...receives, parentCommunication: 'explicit' }
    const listed = subagents(
      contentOf(
        { name: 'research', resumable: receives },
        { name: 'plain', blocking: false, resumable: explicit },
      ),
    )
    expect(lifecycleTools(listed).map(({ name }) => name)).toEqual(['subagent_create', 'subagent_message'])
    expect(create(listed)?.description.split('\n').slice(1)).toEqual([
      '- research (The researcher): Researches. The call waits until the agent is done, and answers with its result.',
      '- plain: Is plain. The call does not wait: the agent sends a message when it has something to say.',
    ])
    expect(create(listed)?.inputSchema).toMatchObject({
      properties: {
        agent: { enum: ['research', 'plain'] },
        attachments: { items: { type: 'string' } },
        arguments: { properties: { topic: { type: 'string' } } },
      },
    })
    expect(lifecycleTools([])).toEqual([])
  })

  test('SA-A-07.7b a name is required, and not empty', () => {
    const tool = create(subagents(contentOf({ name: 'plain', resumable: receives })))
    expect(tool?.inputSchema).toMatchObject({
      required: ['agent', 'name', 'message', 'attachments'],
      properties: { name: { minLength: 1 } },
    })
    expect(tool?.inputSchema.properties).not.toHaveProperty('arguments')
  })

  test('a recursive schema still means itself', () => {
    const of = (agent: string) => ({
      ...subagents(contentOf({ name: 'plain', resumable: receives }))[0],
      agent,
      inputSchema: { type: 'object', properties: { inner: { $ref: '#' } } },
    })
    // In the form of a plan's content.
    const both = [of('one'), of('two')] as unknown as readonly SubagentContent[]
    const [first] = both
    expect(create(first === undefined ? [] : [first])?.inputSchema).toMatchObject({
      properties: { arguments: { properties: { inner: { $ref: '#/properties/arguments' } } } },
    })
    expect(create(both)?.inputSchema).toMatchObject({
      properties: {
        arguments: {
          anyOf: [
            { properties: { inner: { $ref: '#/properties/arguments/anyOf/0' } } },
            { properties: { inner: { $ref: '#/properties/arguments/anyOf/1' } } },
          ],
        },
      },
    })
  })
})
