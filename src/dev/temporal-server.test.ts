import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, startTemporal, useTemporal } from './temporal-server.js'

/** Until the test ends. */
function setEnvironment(values: Readonly<Record<string, string>>): void {
  const before = { ...process.env }
  onTestFinished(() => {
    process.env = before
  })
  process.env = { ...before, ...values }
}

const options = { folder: '.', onWait: () => undefined }

test('a port that is taken is passed over', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  expect(await freePort(port)).toBeGreaterThan(port)
  await new Promise((resolve) => server.close(resolve))
  expect(await freePort(port)).toBe(port)
})

test('a server that is named is used as it is', async () => {
  setEnvironment({ TEMPORAL_ADDRESS: 'temporal.example:7233', TEMPORAL_API_KEY: 'k' })
  const { place, ui } = await startTemporal(options)
  expect({ place, ui }).toEqual({ place: { address: 'temporal.example:7233', configFile: null }, ui: null })
  useTemporal(place)
  expect(process.env['TEMPORAL_API_KEY']).toBe('k')
})

test('settings for production do not reach a server of our own', () => {
  setEnvironment({ TEMPORAL_API_KEY: 'k', TEMPORAL_TLS_SERVER_NAME: 'x', TEMPORAL_CLI_PATH: '/bin/temporal' })
  useTemporal({ address: '127.0.0.1:1', configFile: '/own.toml' })
  expect(process.env).toMatchObject({
    TEMPORAL_ADDRESS: '127.0.0.1:1',
    TEMPORAL_CONFIG_FILE: '/own.toml',
    TEMPORAL_CLI_PATH: '/bin/temporal',
  })
  expect(
    Object.keys(process.env).filter((name) => /API_KEY|TLS/.test(name) && name.startsWith('TEMPORAL')),
  ).toEqual([])
})

test('a program that is none is a sentence', async () => {
  setEnvironment({ TEMPORAL_ADDRESS: '', TEMPORAL_CLI_PATH: '/nowhere/temporal' })
  await expect(startTemporal(options)).rejects.toThrow(
    'Expected TEMPORAL_CLI_PATH to name a program, got "/nowhere/temporal": correct it or unset it.',
  )
})
