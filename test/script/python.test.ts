import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { createCheckout } from './checkout.js'
import type { Checkout } from './checkout.js'

/** A python3 that makes an environment whose own Python notes what it is asked to install. */
function providePython(checkout: Checkout): void {
  const asked = `${checkout.folder}/asked`
  const python = checkout.program('environment-python', [
    '#!/bin/bash',
    `[ "$1" != -m ] || { echo "$*" >>${asked}; exit "$FAILS"; }`,
  ])
  checkout.program('python3', [
    '#!/bin/bash',
    '[ "$1" = -m ] || exit 0',
    `mkdir -p "$3/bin" && cp ${python} "$3/bin/python"`,
  ])
}

const ownPython = { EVERTHREAD_PYTHON: '', FAILS: '0' }

test('the packages of Python are installed once into the cache', async () => {
  const checkout = createCheckout()
  providePython(checkout)
  const before = checkout.run(['locate', 'python'], ownPython)
  expect(await before.ended).toBe(1)
  expect(await checkout.run(['install'], ownPython).ended).toBe(0)
  expect(await checkout.run(['install'], ownPython).ended).toBe(0)
  expect(checkout.read('asked').trim().split('\n')).toHaveLength(1)
  const [folder] = readdirSync(join(checkout.folder, 'cache'))
  const located = checkout.run(['locate', 'python'], ownPython)
  expect(await located.ended).toBe(0)
  expect(located.output()).toBe(`${checkout.folder}/cache/${folder}/bin/python\n`)
})

test('an installation that failed is made anew', async () => {
  const checkout = createCheckout()
  providePython(checkout)
  const failing = checkout.run(['install'], { ...ownPython, FAILS: '1' })
  expect(await failing.ended).toBe(1)
  expect(failing.output()).toMatch(/no Python packages: pip failed, as shown; check the network/)
  expect(await checkout.run(['install'], ownPython).ended).toBe(0)
})

test('no Python is answered with one sentence', async () => {
  const checkout = createCheckout()
  checkout.program('python3', ['#!/bin/sh', 'exit 1'])
  const doctor = checkout.run(['doctor'], ownPython)
  expect(await doctor.ended).toBe(1)
  expect(doctor.output()).toMatch(/^MISSING +Python packages +install python3, 3.10 or later/m)
  const install = checkout.run(['install'], ownPython)
  expect(await install.ended).toBe(1)
  expect(install.output()).toMatch(
    /there is no Python 3.10 or later, .*: install python3, or set EVERTHREAD_PYTHON\.$/m,
  )
})
