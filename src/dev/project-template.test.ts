import { expect, test } from 'vitest'
import { readOwnPackage } from './own-package.js'
import { chooseProvider, projectFiles } from './project-template.js'

test('the provider is the one whose key is set, and an empty key is none', () => {
  const of = (environment: NodeJS.ProcessEnv): string => chooseProvider(environment).name
  expect(of({})).toBe('openai')
  expect(of({ OPENAI_API_KEY: '', ANTHROPIC_API_KEY: 'k' })).toBe('anthropic')
  expect(of({ GOOGLE_GENERATIVE_AI_API_KEY: 'k' })).toBe('google')
})

test('every package of a project has a range', async () => {
  const own = await readOwnPackage()
  for (const key of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY']) {
    const provider = chooseProvider({ [key]: 'k' })
    const files = projectFiles({ name: 'a', provider, own, everthread: '^1.0.0' })
    const { dependencies, devDependencies } = JSON.parse(files['package.json'] ?? '') as Readonly<
      Record<string, Readonly<Record<string, string>>>
    >
    const ranges = Object.values({ ...dependencies, ...devDependencies })
    expect(ranges).toHaveLength(11)
    expect(ranges.filter((range) => !/^[~^]?\d/.test(range))).toEqual([])
    expect(Object.keys(dependencies ?? {})).toContain(provider.package)
  }
})
