import { test } from 'bun:test'
import { warmStory } from './warm-story.ts'

const story = warmStory(() => ({}))

test('the agent of a warm session sees the environment of a cold one', story.environment)
test(
  'the agent of a warm session finds its branch checked out and clean, can push, and knows only its own conversation',
  story.branch,
)
