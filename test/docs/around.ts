/** What a page leaves out because it is the reader's own: services that its code calls, agents that another page has. */
interface Around {
  readonly before?: string
  readonly after?: string
}

const SUPPORT = `
import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, defineTool, registry } from 'everthread'
import { z } from 'zod'
const refund_order = defineTool({
  description: 'Refund an order.',
  args: z.object({ orderId: z.string(), euros: z.number() }),
  needsApproval: true,
  execute: () => ({ status: 'success' }),
})
export const support = registry({
  agents: [defineAgent({ name: 'support', sideA: { prompt: 'desk' } })],
  prompts: [
    definePrompt({
      name: 'desk',
      toolDescription: 'Answers',
      prompt: 'You are the support desk.',
      model: 'chat',
      includeChat: true,
      includePastTools: true,
      tools: ['refund_order'],
    }),
  ],
  models: [defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })],
  tools: { refund_order },
})
`

/** The agents and the model that a page does not show, around what it does: fields of the prompt, and of the registry. */
function registryOf(name: string, prompt: string, rest: string): string {
  return `
import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, definePrompt, registry } from 'everthread'
export const ${name} = registry({
  agents: [defineAgent({ name: 'support', sideA: { prompt: 'desk' } })],
  prompts: [
    definePrompt({
      ...{ name: 'desk', toolDescription: 'Answers', prompt: 'You are the support desk.', model: 'chat' },
      ...{ includeChat: true, includePastTools: true },
      ${prompt},
    }),
  ],
  models: [defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })],
  ${rest},
})
`
}

const REFUND = `
export const refunded: string[] = []
const refund = async (orderId: string, euros: number, key: string) => void refunded.push([orderId, euros, key.length > 0].join())
`

export const AROUND: Readonly<Record<string, Readonly<Record<string, Around>>>> = {
  approvals: {
    'agents.ts': {
      before: `
export const refunded: string[] = []
export const asked: { threadId: string; requestId: string }[] = []
const refund = async (orderId: string, euros: number, key: string) => void refunded.push([orderId, euros, key.length > 0].join())
const postToWarehouse = async (asking: { question: string; threadId: string; requestId: string }) => void asked.push(asking)
`,
      after: registryOf(
        'shop',
        "tools: ['refund_order', 'ask_warehouse']",
        'tools: { refund_order, ask_warehouse }',
      ),
    },
    'service.ts': { before: 'const askSomebody = async (_shown: unknown): Promise<boolean> => true' },
  },
  limits: { 'agents.ts': { before: SUPPORT } },
  'tool-progress': {
    'imports.ts': { before: 'const importHour = async (hour: number): Promise<number> => hour' },
  },
  'asking-people': {
    'agents.ts': {
      before: REFUND,
      after: registryOf('shop', "tools: ['refund_order']", 'tools: { refund_order }'),
    },
  },
  policy: {
    'agents.ts': {
      before: REFUND,
      after: registryOf(
        'shop',
        "tools: ['find_order', 'refund_order']",
        'tools: { find_order, refund_order }',
      ),
    },
    'worker.ts': { before: 'const budgetOf = async (_account: string | null): Promise<number> => 100' },
  },
  effects: {
    'agents.ts': {
      after: registryOf(
        'support',
        "tools: ['close_case']",
        'tools: { close_case }, effects: { ask_satisfaction }',
      ),
    },
  },
  hooks: {
    'agents.ts': {
      after: registryOf(
        'support',
        "hooks: ['mask_card_numbers', 'office_hours']",
        'hooks: [mask_card_numbers, office_hours]',
      ),
    },
  },
  http: {
    'agents.ts': { before: SUPPORT },
    'app.ts': {
      before: `const findSession = async (cookie: string | null) => (cookie === 'ann' ? { account: 'acme' } : undefined)`,
    },
  },
  mcp: {
    'agents.ts': { before: 'const tokenOf = async (_user: string | null): Promise<string | null> => null' },
  },
  models: { 'agents.ts': { before: SUPPORT } },
  costs: { 'agents.ts': { before: SUPPORT } },
  budgets: {
    'agents.ts': {
      before: `
import { openai } from '@ai-sdk/openai'
import { defineModel, definePrompt } from 'everthread'
const chat = defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })
const research = definePrompt({ name: 'research', toolDescription: 'Researches', model: 'chat', prompt: 'You research.' })
`,
    },
  },
  'other-languages': { 'agents.ts': { before: SUPPORT } },
  'own-workflows': { 'agents.ts': { before: SUPPORT } },
  'policy-in-use': { 'agents.ts': { before: SUPPORT } },
  subagents: {
    'newsroom.ts': {
      after: `
const works = { toolDescription: 'Works', model: 'chat', includeChat: true, tools: ['deliver'] } as const
const other = { type: 'dual_ai', exposeAsTool: true, toolDescription: 'Works', sideB: { prompt: 'colleague' } } as const
const sessionStop = { name: 'deliver', messageProperty: 'text' } as const
export const newsroom = registry({
  agents: [
    defineAgent({ name: 'editor', sideA: { prompt: 'editor_desk' } }),
    researcher,
    defineAgent({ name: 'fact_checker', sideA: { prompt: 'checking', sessionStop }, ...other }),
    defineAgent({ name: 'proofreader', sideA: { prompt: 'work', sessionStop }, ...other }),
    defineAgent({ name: 'archivist', sideA: { prompt: 'work', sessionStop }, ...other }),
    defineAgent({ name: 'translator', sideA: { prompt: 'work', sessionStop }, ...other }),
  ],
  prompts: [
    editor_desk,
    research,
    colleague,
    definePrompt({ name: 'work', prompt: 'Work.', ...works }),
    definePrompt({
      name: 'checking',
      prompt: 'Check.',
      requiredSchema: z.object({ files: z.array(z.string()) }),
      ...works,
    }),
  ],
  models: [defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })],
  tools: { deliver, ask_all },
})
`,
    },
  },
  testing: { 'agents.ts': { before: SUPPORT } },
  threads: { 'agents.ts': { before: SUPPORT } },
  tools: {
    'agents.ts': {
      before: `
const findOrder = async (orderId: string, _options: { idempotencyKey: string }) =>
  orderId.startsWith('A-') ? { item: 'a tent', euros: 180 } : undefined
`,
    },
  },
  variables: {
    'agents.ts': {
      before: `
export const mails: string[] = []
const mail = async (text: string, key: string) => void mails.push([text, key].join())
`,
      after: `
import { openai } from '@ai-sdk/openai'
import { defineAgent, defineModel, registry } from 'everthread'
export const office = registry({
  agents: [defineAgent({ name: 'assistant', sideA: { prompt: 'assistant_prompt' } })],
  prompts: [assistant_prompt],
  models: [defineModel({ name: 'chat', provider: openai, model: 'gpt-5-mini' })],
  tools: { send_mail },
})
`,
    },
    'service.ts': {
      before: `const valueOf = (name: string): string => 'the value of ' + name`,
      after: 'export const reply = run.reply?.content',
    },
  },
  workers: { 'agents.ts': { before: SUPPORT } },
}
