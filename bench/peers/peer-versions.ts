import { readFileSync } from 'node:fs'

/** What the peers are made of, as their package has it. */
export function peerVersions(): string {
  const file = new URL('package/package.json', import.meta.url)
  const { dependencies } = JSON.parse(readFileSync(file, 'utf8')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  return [
    '@temporalio/ai-sdk',
    'ai',
    '@temporalio/openai-agents',
    '@openai/agents-core',
    '@temporalio/worker',
  ]
    .map((name) => `${name} ${dependencies[name] ?? 'unknown'}`)
    .join(', ')
}
