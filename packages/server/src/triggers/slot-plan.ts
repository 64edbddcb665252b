/** What firing a slot needs, as it was when the slot was claimed. */
export interface SlotPlan {
  prompt: string
  agent: string | null
  model: string | null
  user_id: string
  depth: number
  /** The session whose agent asked for it; null or absent: a person, a clock or an unknown caller did. */
  parent_session_id?: string | null
}
