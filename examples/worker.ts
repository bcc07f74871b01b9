import type { Registry } from 'everthread'
import { createWorker } from 'everthread/worker'

const EXAMPLES: Readonly<Record<string, () => Promise<Registry>>> = {
  'first-agent': async () => (await import('./first-agent/registry.ts')).shop,
  'support-desk': async () => (await import('./support-desk/registry.ts')).desk,
  'worker-and-reviewer': async () => (await import('./worker-and-reviewer/registry.ts')).studio,
  'refund-desk': async () => (await import('./refund-desk/registry.ts')).refunds,
  'research-tree': async () => (await import('./research-tree/registry.ts')).research,
  handoff: async () => (await import('./handoff/registry.ts')).hotel,
  'effects-and-variables': async () => (await import('./effects-and-variables/registry.ts')).office,
  mcp: async () => (await import('./mcp/registry.ts')).neighbours,
  newsroom: async () => (await import('./newsroom/registry.ts')).newsroom,
  'python-tool': async () => (await import('./python-tool/registry.ts')).reading_room,
  'standard-agents-folder': async () => (await import('./standard-agents-folder/registry.ts')).library,
}

const name = process.argv[2] ?? ''
const load = EXAMPLES[name]
if (load === undefined) {
  console.error(`Expected an example: ${Object.keys(EXAMPLES).join(', ')}; got "${name}".`)
  process.exit(2)
}
const registry = await load()
const worker = await createWorker({ registry })
console.log(`worker: ready, agents ${registry.names().agents.join(', ')}`)
await worker.run()
