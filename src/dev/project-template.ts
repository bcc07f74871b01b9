/**
 * The project that `everthread init` writes: its files, and the texts in them. The model's provider is the one whose key is set.
 *
 * It owns every text of a new project. It does not own how the files get there (`init.ts`).
 * Invariants: each version is a range of our own package.json, so that a project gets what this version was tested with; without a
 * key the project is the same, and `everthread dev` answers with the practice model.
 */
import type { readOwnPackage } from './own-package.js'

/** A provider of models that a new project can use. */
interface Provider {
  /** The environment variable of its key. */
  readonly key: string
  /** The package, and the name of its export. */
  readonly package: string
  readonly name: string
  readonly model: string
}

const OPENAI: Provider = {
  key: 'OPENAI_API_KEY',
  package: '@ai-sdk/openai',
  name: 'openai',
  model: 'gpt-5-mini',
}

const PROVIDERS: readonly Provider[] = [
  OPENAI,
  { key: 'ANTHROPIC_API_KEY', package: '@ai-sdk/anthropic', name: 'anthropic', model: 'claude-sonnet-4-5' },
  {
    key: 'GOOGLE_GENERATIVE_AI_API_KEY',
    package: '@ai-sdk/google',
    name: 'google',
    model: 'gemini-2.5-flash',
  },
]

/** The provider whose key is in the environment; OpenAI if there is none. */
export function chooseProvider(environment: NodeJS.ProcessEnv): Provider {
  return PROVIDERS.find(({ key }) => (environment[key] ?? '') !== '') ?? OPENAI
}

interface Project {
  /** A name that npm allows. */
  readonly name: string
  readonly provider: Provider
  readonly own: Awaited<ReturnType<typeof readOwnPackage>>
  /** Where npm finds everthread: a range of versions, or `file:` with the path of a package. */
  readonly everthread: string
}

/** The files of a new project, by their paths in it. */
export function projectFiles(project: Project): Readonly<Record<string, string>> {
  return {
    'package.json': packageJson(project),
    'tsconfig.json': TSCONFIG,
    '.gitignore': GITIGNORE,
    'agents.ts': agents(project.provider),
    'agents.test.ts': TEST,
    'worker.ts': WORKER,
    'README.md': readme(project),
  }
}

const TEMPORAL = ['activity', 'client', 'common', 'worker', 'workflow'].map((name) => `@temporalio/${name}`)

function packageJson({ name, provider, own, everthread }: Project): string {
  const { peerDependencies: peers, devDependencies: ours } = own
  const of = (ranges: Readonly<Record<string, string>>, names: readonly string[]): object =>
    Object.fromEntries(names.map((each) => [each, ranges[each]]))
  const project = {
    name,
    version: '0.0.0',
    private: true,
    type: 'module',
    scripts: { dev: 'everthread dev', test: 'node --test', check: 'tsc', start: 'node worker.ts' },
    dependencies: {
      ...of(ours, [provider.package]),
      ...of(peers, TEMPORAL),
      everthread,
      ...of(peers, ['zod']),
    },
    devDependencies: {
      ...of(peers, ['@temporalio/testing']),
      ...of(ours, ['@types/node', 'typescript']),
    },
    engines: { node: '>=22.18' },
  }
  return `${JSON.stringify(project, null, 2)}\n`
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "ES2023",
    "module": "NodeNext",
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "skipLibCheck": true
  }
}
`

const GITIGNORE = `node_modules/
.everthread/
.env
`

function agents({ package: from, name, model }: Provider): string {
  return `import { ${name} } from '${from}'
import { agent, defineTool } from 'everthread'
import { z } from 'zod'

const look_up_order = defineTool({
  description: 'Look up an order by its number, such as A-17.',
  args: z.object({ order: z.string() }),
  // It changes nothing: after a crash it may run again.
  idempotent: true,
  execute: (_state, { order }) => ({ order, item: 'a tent', euros: 180 }),
})

const refund = defineTool({
  description: 'Refund an order.',
  args: z.object({ order: z.string(), euros: z.number().positive() }),
  // The thread waits until a person has answered: minutes or weeks, over crashes and deploys.
  needsApproval: true,
  execute: (_state, { order, euros }) => \`\${euros} euros are refunded for \${order}.\`,
})

export const support = agent({
  name: 'support',
  title: 'Support desk',
  model: ${name}('${model}'),
  instructions: 'You are the support desk of a shop for outdoor gear. Be brief. Never invent facts.',
  tools: { look_up_order, refund },
})
`
}

const TEST = `import assert from 'node:assert/strict'
import { test } from 'node:test'

import { createTestEnvironment, scriptedModel } from 'everthread/testing'

import { support } from './agents.ts'

test('a refund waits for a person, over a crash', { timeout: 120_000 }, async () => {
  const chat = scriptedModel([
    { toolCalls: [{ name: 'refund', args: { order: 'A-17', euros: 180 } }] },
    { text: 'Done.' },
  ])
  const env = await createTestEnvironment({ agents: [support], models: chat })
  try {
    const thread = await env.threads.create({ agent: 'support', message: 'Please refund A-17.' })
    assert.equal((await thread.waitUntilIdle()).status, 'waiting_permission')
    await env.restartWorker()
    const [request] = (await thread.snapshot()).pending
    assert.ok(request)
    await thread.respond(request.id, { approved: true })
    assert.equal((await thread.waitUntilIdle()).reply?.content, 'Done.')
  } finally {
    await env.close()
  }
})
`

const WORKER = `import { createWorker } from 'everthread/worker'

import { support } from './agents.ts'

// The worker of production. TEMPORAL_ADDRESS names its Temporal, EVERTHREAD_DATABASE_URL its store.
const worker = await createWorker({ agents: [support] })
await worker.run()
`

function readme({ name, provider }: Project): string {
  return `# ${name}

An agent with [Everthread](https://www.npmjs.com/package/everthread): its conversations survive every crash and deploy.

\`\`\`sh
npm run dev     # Temporal, a worker, the HTTP server and the page; the line that it prints has the URL; q ends all of it
npm test        # the agent with a scripted model, a real worker and a real server
npm run check   # the types
\`\`\`

Without \`${provider.key}\` (in the environment, or in a file \`.env\`) \`npm run dev\` answers with a practice model: it streams, and calls a
tool whose name you write, such as "look up order A-17" or "refund order A-17, 20 euros".

## What to do next

1. Start \`npm run dev\`, open the URL, and talk. Ask for a refund: the tool waits for your answer. Kill the worker while it answers: it goes on.
2. Change the \`instructions\` in \`agents.ts\` while that request is open, and save: a new worker starts, the old one ends, and the request
   is still there. Answer it.
3. Write a tool of your own beside \`refund\`, and add it to \`tools\`.
4. Extend \`agents.test.ts\`. The guide is in \`node_modules/everthread/docs/guide/\`: \`tools.md\`, \`approvals.md\`, \`subagents.md\`, \`testing.md\`.
5. Production: \`npm start\` runs a worker, \`npx everthread serve\` the HTTP server. TEMPORAL_ADDRESS names your Temporal server,
   EVERTHREAD_DATABASE_URL your PostgreSQL: \`docs/guide/workers.md\`, \`docs/operations.md\`.
`
}
