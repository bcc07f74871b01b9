import { expect, test } from 'vitest'

import { loginHost, readLogin } from './login-return.js'

test('only addresses of https, and of the own machine, are links to a login', () => {
  expect(loginHost('https://login.example.com/authorize?state=s')).toBe('login.example.com')
  expect(loginHost('http://127.0.0.1:4000/authorize')).toBe('127.0.0.1:4000')
  const others = ['http://login.example.com/', 'javascript:alert(1)', 'data:text/html,x', 'no address']
  expect(others.map(loginHost)).toEqual([null, null, null, null])
})

test('an address is a return of a login if it has a state and an outcome', () => {
  expect(readLogin('?code=c&state=s&iss=https://login.example.com&other=1')).toEqual({
    ...{ code: 'c', state: 's', iss: 'https://login.example.com' },
  })
  expect(readLogin('?error=access_denied&state=s')).toEqual({ error: 'access_denied', state: 's' })
  expect(['', '?state=s', '?code=c'].map(readLogin)).toEqual([null, null, null])
})
