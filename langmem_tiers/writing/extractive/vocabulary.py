"""Word lists of the rules: what people are, own, do and like, and the words that only gush."""

from __future__ import annotations

from langmem_tiers.palace.words import word_set

PETS = (
    "dogs?|cats?|pupp(?:y|ies)|pups?|kittens?|hamsters?|parrots?"
    "|rabbits?|bunn(?:y|ies)|turtles?|guinea pigs?|goldfish|fish"
    "|horses?|pony|snakes?|pets?|lizards?|geckos?|chickens?|birds?"
)
KIN = (
    "mother|mom|mum|father|dad|parents|sisters?|brothers?|siblings?"
    "|wife|husband|spouse|partner|girlfriend|boyfriend|fianc[ée]e?"
    "|sons?"
    "|daughters?|kids?|child(?:ren)?|aunt|uncle|cousins?|nieces?"
    "|nephews?|grandmother|grandma|granny|gran|grandfather|grandpa"
    "|grandparents"
    "|grandsons?|granddaughters?|stepmother|stepfather|step(?:mom"
    "|dad|son|daughter)|mother-in-law|father-in-law|sister-in-law"
    "|brother-in-law|roommates?|flatmates?"
    "|neighbou?rs?|boss|manager|therapist|doctor|dentist|landlord"
    "|coach|teacher|mentor|colleagues?|co-?workers?|best friend"
    "|friend|twins?|ex|toddler|baby|baby girl|baby boy"
)
THINGS = (
    "car|cars|bike|bicycle|motorbike|motorcycle|scooter|truck|van"
    "|camper|boat|laptop|computer|macbook|pc|phone|iphone|tablet"
    "|ipad|camera"
    "|guitar|piano|violin|cello|drums|ukulele|flute|keyboard|house"
    "|apartment|flat|condo|cabin|cottage|farm|garden|studio|shop"
    "|store"
    "|business|company|restaurant|website|blog|podcast|channel|server"
    "|printer|telescope|watch|tattoo|degree|certificate|licen[cs]e"
    "|subscription|membership|mortgage|loan|savings|scholarship|blood type"
)
PROJECT = (
    "project|team|company|app|application|product|website|site|repo"
    "|repository|codebase|backend|frontend|api|service|server|database"
    "|startup|start-up|client|customer|release|deployment|pipeline"
    "|office|department|cluster|stack|thesis|dissertation|business"
    "|store|shop|studio"
)
FACTS = (
    "birthday|age|email|e-mail(?: address)?|phone number|number"
    "|address|home address|zip(?: code)?|postcode|job|job title"
    "|profession|occupation|major"
    "|hometown|home town|native language|mother tongue|nationality"
    "|height|weight|shoe size|blood type|time ?zone|username|handle"
    "|nickname"
    "|star sign|employer|anniversary|thesis"
    "|role|position|school|university|college|religion|pronouns"
    "|middle name|last name|surname|maiden name|commute|degree"
)
# Words for what one is; 'a bit', 'a mess' and 'a believer' are not among them.
BEING = (
    "(?:[\\w-]+ ){0,3}?(?:nurse|doctor|teacher|student|engineer"
    "|developer|programmer|designer|lawyer|writer|author|artist"
    "|painter|musician|singer|dancer"
    "|banker|baker|chef|cook|pilot|manager|consultant|accountant"
    "|architect|scientist|researcher|professor|lecturer|journalist"
    "|editor"
    "|photographer|electrician|plumber|carpenter|mechanic|farmer"
    "|gardener|barista|waiter|waitress|cashier|librarian|therapist"
    "|psychologist|psychiatrist|counsell?or|dentist|pharmacist|veterinarian"
    "|vet|veteran|soldier|police officer|firefighter|paramedic|actor"
    "|actress"
    "|director|producer|analyst|economist|salesperson|entrepreneur"
    "|freelancer|founder|ceo|cto|intern|apprentice|phd|physicist"
    "|chemist|biologist|mathematician|historian|translator|interpreter"
    "|tutor|coach|trainer|athlete|runner|vegan|vegetarian"
    "|pescatarian|mother|mom|mum|father|dad|parent|grandmother|grandfather"
    "|widow|widower|twin|only child|citizen|immigrant"
    "|christian|muslim|jew|buddhist|hindu|atheist|catholic|native speaker"
    "|night owl|early bird|morning person|cat person|dog person"
    "|beginner|homeowner|volunteer|retiree|social worker|data scientist"
    "|lefty|smoker|non-smoker|(?:trans(?:gender)?) (?:wo)?man|surgeon"
    "|contractor|welder|driver)"
)
STATES = (
    "allergic to|intolerant|lactose|gluten|diabetic|asthmatic|celiac"
    "|coeliac|vegan|vegetarian|pescatarian|pregnant|left-handed"
    "|right-handed|colou?r-?blind"
    "|deaf|autistic|dyslexic|epileptic|single|married|divorced|widowed"
    "|engaged|retired|unemployed|self-employed|bilingual|gay|bisexual"
    "|lesbian"
    "|transgender|trans|non-?binary|jewish|muslim|christian|catholic"
    "|buddhist|hindu|german|french|italian|spanish|dutch|polish"
    "|swedish"
    "|american|british|canadian|indian|chinese|japanese|korean|mexican"
    "|brazilian|australian|irish|scottish|ukrainian|russian|turkish"
    "|greek|portuguese"
)
CONDITIONS = (
    "asthma|diabetes|adhd|an? (?:[\\w-]+ )?allergy|allergies|a (?:[\\w-]+ )?intolerance"
    "|celiac disease|epilepsy|arthritis|migraines?|depression|anxiety"
    "|autism|dyslexia|insomnia|high blood pressure|a heart condition"
    "|tinnitus"
)

# What happened to somebody and matters later, with or without a date.
TURNING_POINTS = (
    "got (?:married|engaged|divorced|promoted|hired|fired|laid off"
    "|accepted|admitted|pregnant|certified|into)|graduated|retired"
    "|adopted|enrolled"
    "|signed up|joined|quit|resigned|moved|relocated|bought|sold"
    "|launched|founded|opened|published|won|passed|earned|became"
    "|lost (?:my|our) (?:job|wallet|keys|phone|dog|cat|mom|mum|mother"
    "|dad|father|grandma|grandpa|grandmother|grandfather|wife|husband)"
    "|broke (?:my|up)|was (?:diagnosed|promoted|hired|fired|accepted"
    "|born|raised)"
    "|started (?:a|an|my|our|(?!caring|feeling|thinking|loving|seeing"
    "|looking|getting|being|having|understanding)[a-z]+ing)|applied|registered|volunteered"
    "|got (?:a|an|my|our) (?:new |first |second )?(?:\\w+ )?(?:job"
    "|dog|cat|puppy|kitten|car|bike|house|apartment|tattoo|degree"
    "|offer|promotion|raise|scholarship|internship)"
    "|switched|inherited|ordered|booked|subscribed|gave birth|married"
    "|teamed up|hired|rented|trained|completed|competed|performed"
    "|proposed|donated|celebrated (?:my|our)"
)
# What happened on some day: kept when the day is told.
# As much, where it is told of what or whom.
DEEDS = (
    "visited|attended|hosted|organi[sz]ed|built|planted|baked|painted"
    "|wrote|volunteered|hiked|camped|flew|travell?ed|interviewed"
    "|designed"
    "|submitted|set up|celebrated|coached|fostered|rescued|fixed"
    "|repaired|renovated|restored|created|composed|recorded|filmed"
    "|mentored|ran for"
    "|went (?:camping|hiking|skiing|swimming|surfing|fishing|biking"
    "|kayaking|to an?|to the|to my)|took (?:an?|my|our) (?:[\\w-]+ ){0,3}?(?:class"
    "|course|trip|lesson|lessons|workshop|exam|job|break from)|participated"
    "|finished (?:my|a|the|reading|writing)|learned (?:to|how to)"
    "|studied|served"
    "|did (?:an?|my|some) [\\w-]+ (?:class|course|workshop|event"
    "|run|race|work|project|piece)|raised|helped (?:out )?(?:at"
    "|my)|found (?:an?|my)(?: new)? (?:job|apartment|house|place"
    "|home)|met (?:my|some|an?|[A-Z])"
)
HAPPENINGS = (
    "went|visited|met|attended|had|took|made|painted|finished|got"
    "|saw|watched|read|ran|hiked|camped|flew|drove|travell?ed|hosted"
    "|organi[sz]ed"
    "|planted|built|baked|cooked|celebrated|started|began|gave|spoke"
    "|presented|played|tried|lost|found|received|did|wrote|came"
    "|left|helped"
    "|set up|checked out|biked|swam|went|rode|dropped|submitted"
    "|interviewed|held|threw|created|learned|fixed|repaired|returned"
    "|spent|tested|broke"
)
UPCOMING = (
    "going|having|planning|starting|taking|moving|flying|hosting"
    "|running|attending|meeting|visiting|getting|travell?ing|leaving"
    "|seeing|throwing"
    "|organi[sz]ing|performing|competing|presenting|opening|launching"
    "|expecting|joining|giving|speaking|driving|putting together"
    "|thinking (?:about|of)|volunteering|celebrating|going back"
)
LIKING = (
    "prefer|love|adore|like|enjoy|hate|dislike|can't stand|cannot stand"
    "|can not stand|detest|loathe|don't like|do not like|don't enjoy"
    "|don't eat|do not eat|don't drink|do not drink|avoid|can't eat"
    "|can't drink|crave|collect|dread|only (?:eat|drink|buy|wear"
    "|use)"
)
HABITUAL = word_set(
    """
    eat drink go run walk swim cycle bike read write cook bake play practice practise train work study take wake get
    sleep have meditate volunteer visit call use buy wear watch listen drive ride paint draw sing dance hike camp
    garden clean travel meet do make start order keep carry exercise skip avoid stretch journal pray pay fly save
    teach attend host
    """
)
# A statement about nothing but these says how somebody feels, not what is so.
GUSH = word_set(
    """
    joy joyful dream dreams passion passions journey vibe vibes moment moments challenge challenges kindness growth
    success inspiration support encouragement positivity energy feeling feelings emotions emotion heart mind soul
    happiness peace courage strength confidence memory memories experience experiences adventure opportunity impact
    difference message world sound idea part beauty creativity expression comfort gratitude connection bond bonds
    cheering fun smile smiles laugh proud thrilled grateful thankful blessed glad lucky excited pumped stoked happy
    sad tired busy swamped scared nervous awesome amazing incredible great good better best nice cool sweet
    wonderful fantastic special perfect beautiful gorgeous powerful meaningful rewarding fulfilling inspiring
    calming relaxing therapeutic magical precious unforgettable priceless way ways thing things stuff lot lots bit
    time times day days year years people others everyone everything something nothing anything someone life lives
    world truth self inner words word talk chat chatting hearing unexpected incident reminded reminds listening
    showing reflect reflecting connections balance finding something chill hang place places spot boost sense kind
    sort step steps push blast ride hope goals goal future past progress process resilience determination motivation
    motivated dedication attitude mindset spirit perspective understanding acceptance love loving compassion empathy
    respect appreciation reminder purpose
    """
)
# Past verbs of feeling, thinking and talking: what they tell is seldom an event.
FELT = word_set(
    """
    felt loved liked enjoyed hated thought knew believed wanted needed hoped wished wondered realized realised
    noticed remembered forgot understood meant seemed looked appreciated admired cared cherished valued missed
    worried feared struggled tried managed used said told asked talked spoke chatted mentioned heard saw watched had
    got gave made kept let put helped shared encouraged inspired motivated supported imagined expected guessed
    figured learned learnt discovered found faced dealt came left stayed agreed took ended was were been
    """
)
# What leaves open what it was: a statement about nothing but these tells nobody anything.
FAINT = FELT | word_set(
    """
    incident incidents situation situations event events occasion case cause issue issues problem problems gang crew
    bunch group folks fam hours hour schedule routine work working piece pieces item items product products detail
    details area side level deal matter topic result results change changes along started starting took taking
    going doing making getting having hit met meeting went looks looking seems stay track end start rest back nice
    supported caring confidence strategies building conversation conversations involved action actions
    notes photos pictures pics ones couple weekend week month year morning evening night
    thoughts ideas opportunities options routines regime regimes tips
    """
)
FAINT_ADJECTIVES = word_set(
    """
    splendid brilliant marvellous marvelous terrific awful terrible horrible
    wicked unexpected wild crazy weird strange odd unique new young old regular pretty lovely interesting exciting
    different various certain whole entire usual normal huge big small little comfy cozy tough hard rough busy fresh
    cute great good nice amazing awesome cool fun special wonderful fantastic incredible beautiful perfect super
    really very few some other important main recent long short quick same similar many several bad quiet calm lazy
    community
    """
)
# What people do on any free day: that they did so is nothing to know them by, unless somebody or something is named.
EVERYDAY = word_set(
    """
    breakfast brunch lunch dinner supper meal meals food snack snacks dessert barbecue bbq picnic cake pizza drinks
    walk walks stroll hike park playground yard backyard garden nature woods trees campfire fire bonfire marshmallows
    s'mores stories story jokes game games cards movie movies film tv show music song songs sunset stars sun fresh
    air table couch
    ate eat eating made cooked cooking baked grilled roasted roasting prepared shared sharing told chilled chilling
    relaxed relaxing rested sat walked walking strolled played playing watched watching listened danced sang explored
    exploring enjoyed went gone took brought hung hanging spent yummy delicious tasty outside outdoors together
    """
)
