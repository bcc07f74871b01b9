import { afterAll, vi } from 'vitest'

/** Files share a process: each leaves the environment as it found it, whatever its tests have set. */
const found = { ...process.env }
afterAll(() => {
  vi.unstubAllEnvs()
  for (const name of Object.keys(process.env)) if (!(name in found)) delete process.env[name]
  Object.assign(process.env, found)
})
