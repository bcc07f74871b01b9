import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'

const chief = defineModel({ name: 'chief', provider: openai, model: 'gpt-5-mini' })
const staff = defineModel({ name: 'staff', provider: openai, model: 'gpt-5-nano' })

const editor_desk = definePrompt({
  name: 'editor_desk',
  toolDescription: 'Makes articles',
  model: 'chief',
  includeChat: true,
  includePastTools: true,
  prompt:
    'You are the editor of a small paper. Have all topics of an article researched in one go, write it, have it ' +
    'proofread, and have the mended text read once more by the same proofreader.',
  variables: [
    { name: 'TRANSLATION', type: 'text', required: false, description: 'yes: there is a translator' },
  ],
  tools: [
    // Starts before the editor's first step, which reads its result.
    { name: 'archivist', immediate: true },
    // One call, several children at a time, one answer.
    { name: 'researcher', fanOut: true, initUserMessageProperty: 'topic', initAgentNameProperty: 'topic' },
    // Stays open: subagent_create starts one, subagent_message writes to it.
    { name: 'proofreader', resumable: { receives_messages: 'side_a', maxInstances: 1 }, timeout: 3_600_000 },
    // Offered only while the variable TRANSLATION is set; the editor does not wait for it.
    { name: 'translator', optional: 'TRANSLATION', blocking: false, initUserMessageProperty: 'text' },
  ],
})

/** Side A of each subagent: it works, then ends its session with `deliver`. */
const works = { model: 'staff', includeChat: true, includePastTools: true, tools: ['deliver'] } as const

const archive = definePrompt({
  name: 'archive',
  toolDescription: 'Remembers',
  prompt: 'Call deliver with what the paper wrote last week, in a sentence.',
  ...works,
})
const research = definePrompt({
  name: 'research',
  toolDescription: 'Researches',
  prompt: 'Research the topic, then call deliver with what you found.',
  // The arguments of `researcher`; with fanOut a list of them.
  requiredSchema: z.object({ topic: z.string() }),
  ...works,
})
const proofreading = definePrompt({
  name: 'proofreading',
  toolDescription: 'Proofreads',
  prompt: 'Call deliver with the mistakes of the text, or with the word that there are none.',
  ...works,
})
const translation = definePrompt({
  name: 'translation',
  toolDescription: 'Translates',
  prompt: 'Call deliver with the text in French.',
  requiredSchema: z.object({ text: z.string() }),
  ...works,
})

/** Side B: answers when side A speaks instead of delivering. */
const colleague = definePrompt({
  name: 'colleague',
  toolDescription: 'Looks on',
  model: 'staff',
  includeChat: true,
  prompt: 'Say in a sentence what is missing, or that it can be delivered.',
})

const deliver = defineTool({
  description: 'Deliver the result. Ends the session.',
  args: z.object({ text: z.string() }),
  execute: () => ({ status: 'success' }),
})

/** Common to all subagents: two models, exposed as a tool. */
const subagent = {
  type: 'dual_ai',
  exposeAsTool: true,
  maxSessionTurns: 10,
  sideB: { prompt: 'colleague' },
} as const
const sessionStop = { name: 'deliver', messageProperty: 'text' } as const

const editor = defineAgent({ name: 'editor', sideA: { prompt: 'editor_desk' } })
const archivist = defineAgent({
  name: 'archivist',
  toolDescription: 'Knows what the paper wrote.',
  sideA: { prompt: 'archive', sessionStop },
  ...subagent,
})
const researcher = defineAgent({
  name: 'researcher',
  toolDescription: 'Researches a topic.',
  sideA: { prompt: 'research', sessionStop },
  ...subagent,
})
const proofreader = defineAgent({
  name: 'proofreader',
  toolDescription: 'Reads a text for mistakes, and remembers it.',
  sideA: { prompt: 'proofreading', sessionStop },
  ...subagent,
})
const translator = defineAgent({
  name: 'translator',
  toolDescription: 'Translates a text into French.',
  sideA: { prompt: 'translation', sessionStop },
  ...subagent,
})

/** A person, an editor, and the editor's subagents: one of each kind. */
export const newsroom = registry({
  agents: [editor, archivist, researcher, proofreader, translator],
  prompts: [editor_desk, archive, research, proofreading, translation, colleague],
  models: [chief, staff],
  tools: { deliver },
})
