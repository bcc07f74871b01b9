import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/replay/record-histories.ts'],
    setupFiles: ['./test/support/quiet-runtime.ts'],
    globalSetup: ['./test/support/servers-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})
