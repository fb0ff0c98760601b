/** For the rest of the transaction: the time if it is our turn, or nothing; and the place behind which to look. */
export const CLAIM_SETTING = { turn: 'gleaner_rows.turn', place: 'gleaner_rows.place' } as const
